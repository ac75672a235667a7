"""Positions that are drawn or coupled: their stated law, their order and range, their seed, and every refusal."""

from __future__ import annotations

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc.positions import augmented, bi_level, coupled, randomised, shifted, skip_wise

#: Five standard errors: a right law fails one time in two million; the generators are seeded, so never or always.
ERRORS = 5.0


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def mean_is(values: np.ndarray, mean: float, variance: float) -> bool:
    """Whether the mean of independent numbers lies within five standard errors of what it should be."""
    return bool(abs(values.mean() - mean) <= ERRORS * math.sqrt(variance / values.size))


def test_randomised_positions_are_a_sorted_set_below_the_longest() -> None:
    drawn = randomised(9, 2_048, rng(), rows=500)
    assert drawn.shape == (500, 9)
    assert drawn.dtype == np.int64
    assert (np.diff(drawn, axis=-1) > 0).all()
    assert drawn.min() >= 0
    assert drawn.max() < 2_048
    assert not np.array_equal(drawn[0], drawn[1])


def test_randomised_positions_take_every_set_equally_often() -> None:
    """2 of 4 positions: six sets, each with probability 1/6."""
    draws = 6_000
    pairs, counts = np.unique(randomised(2, 4, rng(1), rows=draws), axis=0, return_counts=True)
    assert len(pairs) == 6
    assert (np.abs(counts / draws - 1 / 6) <= ERRORS * math.sqrt(5 / 36 / draws)).all()


def test_randomised_order_statistics_have_their_means() -> None:
    """The i-th of n of N numbers from 0 has mean i·(N+1)/(n+1) - 1 and variance below (N+1)²/(4(n+2))."""
    drawn = randomised(3, 100, rng(2), rows=4_000)
    for index in range(3):
        assert mean_is(drawn[:, index], (index + 1) * 101 / 4 - 1, 101**2 / (4 * 5))


def test_randomised_edges() -> None:
    assert randomised(5, 5, rng()).tolist() == [0, 1, 2, 3, 4]
    assert randomised(0, 0, rng()).shape == (0,)
    assert randomised(0, 9, rng(), rows=2).shape == (2, 0)
    assert randomised(3, 9, rng(), rows=0).shape == (0, 3)


def test_shifted_moves_a_row_as_a_whole_by_every_number_equally_often() -> None:
    moved = shifted(np.tile(np.arange(7), (6_000, 1)), 3, rng(3))
    offsets = moved[:, 0]
    assert (moved == np.arange(7) + offsets[:, None]).all()
    found, counts = np.unique(offsets, return_counts=True)
    assert found.tolist() == [0, 1, 2, 3]
    assert (np.abs(counts / 6_000 - 1 / 4) <= ERRORS * math.sqrt(3 / 16 / 6_000)).all()


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor, jnp.asarray])
def test_one_seed_gives_one_shift_and_one_augmentation_in_every_library(make) -> None:
    positions = np.array([[0, 1, 2, 5], [3, 4, 5, 6]])
    want = shifted(positions, 500, rng(4))
    assert np.array_equal(np.asarray(shifted(make(positions), 500, rng(4))), want)
    real = augmented(positions, rng(5), shift=9.0, jitter=0.5, scale=1.4)
    found = np.asarray(augmented(make(positions), rng(5), shift=9.0, jitter=0.5, scale=1.4))
    # JAX has float32: draws, sum and product round once each, of numbers below (6 + 9.5)·1.4 = 22.
    assert np.abs(found - real).max() <= 4 * 2.0**-24 * 22
    assert type(found.sum()) is np.float64 or make is jnp.asarray


def test_shifting_does_not_wrap_small_integers() -> None:
    assert shifted(np.array([250, 251], np.uint8), 0, rng()).tolist() == [250, 251]
    far = shifted(np.full((40, 1), 250, np.uint8), 100, rng(6))
    assert far.min() >= 250
    assert far.max() > 255


def test_augmented_has_the_moments_of_its_three_draws() -> None:
    rows = 8_000
    positions = np.tile(np.array([0, 10]), (rows, 1))
    # The shift alone: uniform in [-6, 6], variance 6²/3, and the same for a whole row.
    moved = augmented(positions, rng(7), shift=6.0) - positions
    assert np.abs(moved[:, 0] - moved[:, 1]).max() <= 16 * 2.0**-52
    assert np.abs(moved).max() <= 6.0
    assert mean_is(moved[:, 0], 0.0, 12.0)
    # The variance of the square of a uniform number in [-a, a] is 4·a⁴/45.
    assert mean_is(moved[:, 0] ** 2, 12.0, 4 * 6.0**4 / 45)
    # The jitter alone: the same law for every token, and independent of its neighbour.
    shaken = augmented(positions, rng(8), jitter=0.5) - positions
    assert np.abs(shaken).max() <= 0.5
    assert mean_is(shaken**2, 1 / 12, 4 * 0.5**4 / 45)
    assert mean_is(shaken[:, 0] * shaken[:, 1], 0.0, 1 / 144)
    # The scale alone: its logarithm is uniform in ±ln 1.4.
    logarithm = np.log(augmented(positions, rng(9), scale=1.4)[:, 1] / 10)
    assert np.abs(logarithm).max() <= math.log(1.4) + 2.0**-50
    assert mean_is(logarithm, 0.0, math.log(1.4) ** 2 / 3)
    assert mean_is(logarithm**2, math.log(1.4) ** 2 / 3, 4 * math.log(1.4) ** 4 / 45)


def test_augmented_scales_what_was_shifted_and_jittered() -> None:
    """λ·(p + Δ + ε): one row's two tokens tell λ, since the shift cancels."""
    found = augmented(np.array([[0, 100]] * 50), rng(10), shift=1e3, scale=2.0)
    scale = (found[:, 1] - found[:, 0]) / 100
    assert np.abs(found[:, 0] / scale).max() <= 1e3 + 1e-9
    assert (np.abs(found[:, 0]) > 1e3).any()  # the shift is scaled too: up to 2,000


def test_augmented_by_nothing_is_the_positions_and_half_a_step_keeps_the_order() -> None:
    assert augmented([3, 5], rng()).tolist() == [3.0, 5.0]
    assert (np.diff(augmented(np.tile(np.arange(50), (20, 1)), rng(11), jitter=0.5, shift=9.0)) > 0).all()


def test_skip_wise_is_two_runs_with_one_gap() -> None:
    length, longest, rows = 11, 500, 6_000
    found = skip_wise(length, longest, rng(12), rows=rows)
    steps = np.diff(found, axis=-1)
    assert found.dtype == np.int64
    assert (found[:, 0] == 0).all()
    assert found.max() < longest
    assert ((steps > 1).sum(-1) <= 1).all()
    gap = found[:, -1] - (length - 1)
    count = longest - length + 1
    assert mean_is(gap, (count - 1) / 2, (count**2 - 1) / 12)
    jumped = gap > 0
    first = (steps[jumped] > 1).argmax(-1) + 1
    assert sorted(set(first.tolist())) == [1, 2, 3, 4, 5, 6]
    assert mean_is(first, 3.5, 35 / 12)
    assert found.max() == longest - 1  # the last position is reached


def test_skip_wise_edges() -> None:
    assert skip_wise(1, 1, rng()).tolist() == [0]
    assert skip_wise(6, 6, rng()).tolist() == [0, 1, 2, 3, 4, 5]
    assert skip_wise(6, 60, rng(), rows=0).shape == (0, 6)


@pytest.mark.parametrize("make", [list, np.asarray, torch.as_tensor, jnp.asarray])
def test_bi_level_counts_in_a_segment_and_segments(make) -> None:
    ends = [[0, 0, 1, 0, 1, 1, 0], [1, 0, 0, 0, 0, 0, 1]]
    within, segment = bi_level(make(ends))
    assert within.tolist() == [[0, 1, 2, 0, 1, 0, 0], [0, 0, 1, 2, 3, 4, 5]]
    assert segment.tolist() == [[0, 0, 0, 1, 1, 2, 3], [0, 1, 1, 1, 1, 1, 1]]
    assert bi_level(make(ends), longest=3)[0].tolist() == [[0, 1, 2, 0, 1, 0, 0], [0, 0, 1, 2, 2, 2, 2]]


def test_bi_level_without_tokens_or_ends_and_while_traced() -> None:
    assert [level.shape for level in bi_level(np.zeros((2, 0), bool))] == [(2, 0), (2, 0)]
    assert [level.tolist() for level in bi_level([False, False])] == [[0, 1], [0, 0]]
    ends = np.array([[0, 1, 0, 0], [1, 1, 0, 1]], bool)
    want = [level.tolist() for level in bi_level(ends)]
    assert [level.tolist() for level in jax.jit(bi_level)(jnp.asarray(ends))] == want
    compiled = torch.compile(bi_level, fullgraph=True, backend="aot_eager")
    assert [level.tolist() for level in compiled(torch.as_tensor(ends))] == want


def test_coupled_digits_of_one_significance_share_a_position() -> None:
    # 653 + 49 = 702, answer reversed: 6 5 3 + 4 9 = 2 0 7.
    assert coupled(3, 2, 3).tolist() == [4, 3, 2, 1, 3, 2, 1, 2, 3, 4]
    # All least significant first, then all most significant first.
    assert coupled(3, 2, 3, reverse_input=True).tolist() == [2, 3, 4, 1, 2, 3, 1, 2, 3, 4]
    assert coupled(3, 2, 3, reverse_output=False).tolist() == [4, 3, 2, 1, 3, 2, 5, 4, 3, 2]


@pytest.mark.parametrize(("reverse", "last"), [(True, 17), (False, 16)])
def test_coupled_starts_anywhere_that_leaves_room(reverse: bool, last: int) -> None:
    generator = rng(13)
    drawn = [coupled(2, 2, 3, reverse_output=reverse, longest=20, rng=generator) for _ in range(3_000)]
    starts = np.array([row[2] for row in drawn])  # the plus sign stands at the start
    assert (min(starts), max(starts)) == (1, last)
    assert max(row.max() for row in drawn) == 20
    assert all(np.array_equal(one - one[2], other - other[2]) for one, other in pairwise(drawn[:5]))
    assert mean_is(starts, (1 + last) / 2, (last**2 - 1) / 12)


def test_one_seed_gives_one_draw() -> None:
    for call in (
        lambda seed: randomised(5, 99, rng(seed), rows=3),
        lambda seed: skip_wise(5, 99, rng(seed), rows=3),
        lambda seed: shifted(np.zeros((3, 2), int), 10**6, rng(seed)),
        lambda seed: augmented(np.zeros((3, 2)), rng(seed), shift=1.0),
        lambda seed: coupled(2, 2, 3, longest=10**6, rng=rng(seed)),
    ):
        assert np.array_equal(call(1), call(1))
        assert not np.array_equal(call(1), call(2))


ONE_GENERATOR = r"^rng must be a numpy.random.Generator; got 0 \(int\)"
REFUSED = [
    (lambda: randomised(5, 4, rng()), ValueError, r"^length must be an integer from 0 to 4; got 5"),
    (lambda: randomised(1, 2**40, rng()), ValueError, r"^longest must be an integer from 0 to 67108864"),
    (lambda: randomised(1.0, 9, rng()), TypeError, r"^length must be an integer"),
    (lambda: randomised(2, 9, 0), TypeError, ONE_GENERATOR),
    (lambda: randomised(2, 9, rng(), rows=-1), ValueError, r"^rows must be an integer from 0"),
    (lambda: randomised(2**26, 2**26, rng(), rows=2**20), ValueError, r"^rows must need at most \d+ bytes"),
    (lambda: shifted([0], -1, rng()), ValueError, r"^most must be an integer from 0 to \d+; got -1"),
    (lambda: shifted([0], 2, 0), TypeError, ONE_GENERATOR),
    (lambda: shifted(3, 2, rng()), ValueError, r"^positions must have a sequence axis; got shape \(\)"),
    (lambda: shifted([2**53], 2**53, rng()), ValueError, r"^positions must be finite and of magnitude at most 2\^53"),
    (
        lambda: shifted(jnp.arange(3), 2**31 - 2, rng()),
        ValueError,
        r"^most must keep positions below 2147483648 where there are no 64-bit numbers; got 2147483646 for positions "
        r"up to 2",
    ),
    (lambda: shifted(jnp.arange(3.0), 2**24, rng()), ValueError, r"^most must keep positions below 16777216"),
    (lambda: augmented([0], 0), TypeError, ONE_GENERATOR),
    (lambda: augmented([0], rng(), shift=-1.0), ValueError, r"^shift must be a finite number from 0"),
    (lambda: augmented([0], rng(), jitter=math.nan), ValueError, r"^jitter must be a finite number from 0"),
    (lambda: augmented([0], rng(), scale=0.5), ValueError, r"^scale must be a finite number from 1"),
    (lambda: augmented("012", rng()), TypeError, r"^positions must be a number, a list or"),
    (lambda: augmented(np.float64(1.0), rng()), ValueError, r"^positions must have a sequence axis"),
    (
        lambda: jax.jit(lambda p: shifted(p, 5, rng()))(jnp.arange(3)),
        ValueError,
        r"^positions must be drawn outside a compiled or traced program",
    ),
    (lambda: skip_wise(0, 5, rng()), ValueError, r"^length must be an integer from 1 to 5; got 0"),
    (lambda: skip_wise(6, 5, rng()), ValueError, r"^length must be an integer from 1 to 5; got 6"),
    (lambda: skip_wise(2, 0, rng()), ValueError, r"^longest must be an integer from 1"),
    (lambda: skip_wise(2, 5, 0), TypeError, ONE_GENERATOR),
    (lambda: skip_wise(2, 5, rng(), rows=1.5), TypeError, r"^rows must be an integer"),
    (lambda: bi_level([0, 2]), ValueError, r"^ends must hold 0 and 1"),
    (lambda: bi_level(np.bool_(True)), ValueError, r"^ends must have a sequence axis; got shape \(\)"),
    (lambda: bi_level([0, 1], longest=0), ValueError, r"^longest must be an integer from 1"),
    (lambda: coupled(0, 2, 3), ValueError, r"^first must be an integer from 1"),
    (lambda: coupled(2, 0, 3), ValueError, r"^second must be an integer from 1"),
    (lambda: coupled(2, 2, 1.0), TypeError, r"^answer must be an integer from 1"),
    (lambda: coupled(2, 2, 3, reverse_input=1), TypeError, r"^reverse_input must be True or False"),
    (lambda: coupled(2, 2, 3, reverse_output=0), TypeError, r"^reverse_output must be True or False"),
    (lambda: coupled(2, 2, 3, longest=9), ValueError, r"^longest and rng must be given together or not at all"),
    (lambda: coupled(2, 2, 3, rng=rng()), ValueError, r"^longest and rng must be given together or not at all"),
    (lambda: coupled(2, 2, 3, longest=3, rng=rng()), ValueError, r"^longest must be an integer from 4"),
    (lambda: coupled(2, 2, 3, longest=9, rng=0), TypeError, ONE_GENERATOR),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_argument(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
