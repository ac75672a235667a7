"""Bounds of tracked arithmetic against float32 itself, and against Higham's first-order formulas by hand."""

import operator

import numpy as np
import pytest

from posenc.phase.tracked_rounding import OF_FUNCTION, TRACKED, UNIT, Tracked, tracked

TENTH = abs(float(np.float32(0.1)) - 0.1)
OFF = 2.0**-30
STEPS = {
    "+": (operator.add, lambda a, b: OFF + 2 * OFF + UNIT * abs(a + b)),
    "-": (operator.sub, lambda a, b: OFF + 2 * OFF + UNIT * abs(a - b)),
    "*": (operator.mul, lambda a, b: abs(a) * 2 * OFF + abs(b) * OFF + UNIT * abs(a * b)),
    "/": (operator.truediv, lambda a, b: (OFF + abs(a / b) * 2 * OFF) / abs(b) + UNIT * abs(a / b)),
}


@pytest.mark.parametrize("sign", STEPS)
def test_a_step_adds_what_it_rounds_to_what_its_arguments_were_off_by(sign):
    """Both arguments are off; their values have either sign, and their sum cancels."""
    step, bound = STEPS[sign]
    for a, b in ((3.0, 1.25), (-3.0, 1.25), (0.1, -0.3), (7.0, 7.0 - 2.0**-20)):
        found = step(Tracked(a, OFF), Tracked(b, 2 * OFF))
        assert float(found.value) == step(a, b)
        assert float(found.error) == pytest.approx(bound(a, b), rel=1e-12)


@pytest.mark.parametrize("sign", STEPS)
def test_a_number_on_the_left_meets_the_operators_of_the_class(sign):
    step, _ = STEPS[sign]
    x = Tracked([1.5, -2.5], OFF)
    for left in (3.0, np.float64(3.0), np.array([3.0, 4.0])):
        found, expected = step(left, x), step(tracked(left), x)
        assert isinstance(found, Tracked)
        assert np.array_equal(found.value, step(np.asarray(left), x.value))
        assert np.array_equal(found.error, expected.error)


def test_what_is_known_rounds_by_what_it_is_and_what_float32_holds_not_at_all():
    assert float(tracked(0.1).error) == TENTH
    assert float((tracked(0.5) + 0.25).error) == 0.0
    assert float((tracked(1.0) + 2.0**-30).error) == 2.0**-30
    assert float((Tracked(0.5, OFF) + 0.25).error) == OFF + 0.75 * UNIT


def test_functions_are_off_by_a_unit_in_the_last_place_and_carry_errors_by_their_slope():
    x = Tracked(0.75, OFF)
    for found, value, error in (
        (TRACKED.xp.cos(x), np.cos(0.75), OFF + OF_FUNCTION * np.cos(0.75)),
        (TRACKED.xp.exp(x), np.exp(0.75), np.exp(0.75) * (OFF + OF_FUNCTION)),
        (TRACKED.xp.cos(Tracked(2.5)), np.cos(2.5), OF_FUNCTION * abs(np.cos(2.5))),
        (10.0**x, 10**0.75, 10**0.75 * (np.log(10.0) * OFF + OF_FUNCTION)),
        (0.1 ** Tracked(-2.0), 100.0, 100.0 * (2.0 * TENTH / 0.1 + OF_FUNCTION)),
    ):
        assert float(found.value) == pytest.approx(value, rel=1e-15)
        assert float(found.error) == pytest.approx(error, rel=1e-12)


def test_a_number_near_a_half_may_round_to_either_whole_number():
    found = TRACKED.xp.round(Tracked([1.4, 1.49999999, 2.0], 1e-6))
    assert found.value.tolist() == [1.0, 1.0, 2.0]
    assert found.error.tolist() == [0.0, 1.0, 0.0]


def test_comparisons_read_the_numbers():
    x = Tracked([1.0, 2.0, 3.0], OFF)
    assert (x > 2.0).tolist() == [False, False, True]
    assert (x < 2.0).tolist() == [True, False, False]
    assert (x == 2.0).tolist() == [False, True, False]


def test_choosing_joining_and_indexing_keep_each_number_with_its_error():
    x, y = Tracked([1.0, 2.0], [OFF, 2 * OFF]), Tracked([3.0, 4.0], [3 * OFF, 4 * OFF])
    chosen, joined = TRACKED.xp.where(np.array([True, False]), x, y), TRACKED.xp.concatenate([x, y])
    assert (chosen.value.tolist(), chosen.error.tolist()) == ([1.0, 4.0], [OFF, 4 * OFF])
    assert (joined[1:3].value.tolist(), joined[1:3].error.tolist()) == ([2.0, 3.0], [2 * OFF, 3 * OFF])


def test_constants_of_float32_are_rounded_and_others_stay_as_they_are():
    assert float(TRACKED.constant(0.1, np.float32).error) == TENTH
    assert isinstance(TRACKED.constant([1.0, 2.0]), np.ndarray)


def test_no_float32_computation_is_further_off_than_its_bound():
    """Ten steps on 10,000 random numbers, with cancellation; the reference is the same formula in float64, whose own
    rounding is 2^-29 of float32's."""
    draw = np.random.default_rng(0)
    a, b, c = (draw.uniform(0.5, 2.0, 10_000) for _ in range(3))

    def formula(x, y, z, power, cos):
        return (x * y - z) / (x + z) + power(y) * cos(x - y * z) - 1.0

    narrow = formula(*(x.astype(np.float32) for x in (a, b, c)), lambda x: np.float32(3.0) ** x, np.cos)
    exact = formula(a, b, c, lambda x: 3.0**x, np.cos)
    bound = formula(*map(tracked, (a, b, c)), lambda x: 3.0**x, TRACKED.xp.cos)
    assert narrow.dtype == np.float32
    assert np.allclose(bound.value, exact, rtol=1e-12)
    off = np.abs(narrow.astype(np.float64) - exact)
    assert (off <= bound.error + 2.0**-40).all()
    assert (off > bound.error / 16).mean() > 0.1  # and it is no bound that anything keeps
