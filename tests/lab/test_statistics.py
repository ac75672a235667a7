"""Statistics against scipy, against simulation and against definitions written the long way."""

import math

import numpy as np
import pytest
from scipy import stats

from posenc.lab.statistics import (
    area_under,
    effective_length,
    holm,
    paired_difference,
    smallest_visible,
    steps_to,
    student_interval,
)


@pytest.mark.parametrize("count", [2, 5, 8, 30])
def test_interval_and_p_value_are_those_of_scipy(count):
    rng = np.random.default_rng(count)
    first = rng.normal(0.7, 0.1, count)
    second = first - rng.normal(0.05, 0.04, count)
    ours, test = paired_difference(first, second), stats.ttest_rel(first, second)
    assert ours.p_value == pytest.approx(test.pvalue, rel=1e-10)
    interval = test.confidence_interval(0.95)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    alone = student_interval(first)
    expected = stats.t.interval(0.95, count - 1, first.mean(), stats.sem(first))
    assert (alone.low, alone.high) == pytest.approx(expected, rel=1e-10)


def test_the_smallest_visible_effect_is_seen_four_times_in_five():
    rng, count, deviation = np.random.default_rng(0), 5, 0.3
    effect = smallest_visible(deviation, count)
    samples = rng.normal(effect, deviation, (20_000, count))
    seen = (stats.ttest_1samp(samples, 0.0, axis=1).pvalue < 0.05).mean()
    assert seen == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 20_000))


def test_pairing_sees_what_differs_less_than_seeds_do():
    seeds = np.array([0.2, 0.5, 0.9, 0.4, 0.7])
    better = seeds + np.array([0.03, 0.02, 0.03, 0.025, 0.028])
    assert paired_difference(better, seeds).p_value < 0.001 < 0.5 < stats.ttest_ind(better, seeds).pvalue


def test_equal_differences_have_no_spread():
    same, constant = paired_difference([1.0] * 5, [1.0] * 5), paired_difference([1.0] * 5, [0.25] * 5)
    assert (same.p_value, same.standardised, same.visible) == (1.0, 0.0, 0.0)
    assert (constant.p_value, constant.standardised) == (0.0, math.inf)
    assert constant.interval.low == constant.interval.high == 0.75


def test_holm_by_its_definition():
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.random(6) ** 3
        order = np.argsort(values)
        expected = np.empty(6)
        for rank, index in enumerate(order):
            expected[index] = min(1.0, max((6 - r) * values[order[r]] for r in range(rank + 1)))
        assert holm(values) == pytest.approx(expected)


def test_a_loss_that_rises_again_has_not_arrived():
    curve = [(1, 3.0), (2, 0.5), (3, 2.0), (4, 0.9), (5, 0.8)]
    assert steps_to(curve, 1.0) == steps_to(curve, 0.9) == 4
    assert steps_to(curve, 0.1) == math.inf
    assert steps_to([*curve, (6, math.nan)], 1.0) == math.inf
    every = np.random.default_rng(0).random(40)
    reported = [(10, every[:10].mean()), (25, every[10:25].mean()), (40, every[25:].mean())]
    assert area_under(reported) == pytest.approx(every.mean())


def test_effective_length_ends_at_the_first_failure():
    assert effective_length({16: 0.9, 8: 1.0, 32: 0.2, 64: 0.99}, 0.85) == 16
    assert effective_length({8: 0.5}, 0.85) == 0
    assert effective_length({8: 1.0, 16: 1.4, 32: 2.0}, 1.5, higher_is_better=False) == 16


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: paired_difference([1.0, 2.0], [1.0]), "first and second must have one number for each seed, two or"),
        (lambda: student_interval([math.nan]), "values must be one or more finite numbers; got"),
        (lambda: area_under([]), "curve must have a point; got none"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
