"""The notes' ladder of naive ideas: count, share, one sine, pairs with divisors."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import Concatenated, Count, DivisorPairs, NormalisedCount, OneSine

#: One rounding of a float64 cosine or sine near 1, twice over: the oracle's and ours (budget of the phase: 2 ulp).
FLOAT64 = 4 * 2.0**-53


def closest(rows: np.ndarray) -> tuple[int, int, float]:
    """The two rows that lie nearest, the first such pair, and their distance."""
    distance = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(-1))
    distance[np.tril_indices(len(rows))] = np.inf
    first, second = np.unravel_index(int(np.argmin(distance)), distance.shape)
    return int(first), int(second), float(distance[first, second])


def test_count_is_the_position_and_its_start() -> None:
    assert Count().embed([[0, 1], [5, 2**53]]).tolist() == [[[1.0], [2.0]], [[6.0], [2.0**53]]]
    assert Count(start=0).embed([0.5, -3.0]).tolist() == [[0.5], [-3.0]]
    assert Count().width == 1


def test_count_is_appended() -> None:
    joined = Concatenated(Count()).attach(np.ones((2, 3, 2)), [0, 1, 2])
    assert joined.shape == (2, 3, 3)
    assert joined[1, :, 2].tolist() == [1.0, 2.0, 3.0]


def test_share_of_the_notes() -> None:
    assert NormalisedCount(length=2).embed([0, 1]).ravel().tolist() == [0.5, 1.0]  # "Thank you"
    assert NormalisedCount(length=4).embed([0, 1, 2, 3]).ravel().tolist() == [0.25, 0.5, 0.75, 1.0]
    assert NormalisedCount(length=5, start=0).embed([4]).item() == 0.8


def test_count_is_rounded_once() -> None:
    # 2^24 + 1 has no float32; the sum is formed before it is rounded, so that 2^24 + 2 comes out exactly.
    position = torch.tensor([2**24 + 1])
    assert Count().embed(position).item() == 2**24 + 2
    assert Count().embed(position, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_count_past_the_end_of_32_bits_is_no_number() -> None:
    end = jnp.asarray([2**31 - 1, 7])
    assert math.isnan(Count().embed(end)[0, 0])
    assert math.isnan(jax.jit(Count().embed)(end)[0, 0])
    assert jax.jit(Count().embed)(end)[1, 0] == 8.0
    assert Count(start=-1).embed(jnp.asarray([-(2**31) + 1])).item() == -(2.0**31)


def test_one_sine_values_and_collision() -> None:
    values = OneSine().embed(np.arange(1001))
    expected = np.array([[math.sin(p)] for p in range(1001)])
    assert np.abs(values - expected).max() <= FLOAT64
    first, second, distance = closest(values)
    assert (first, second) == (11, 344)
    assert f"{distance:.1e}" == "1.3e-07"


def test_one_pair_comes_back_after_710() -> None:
    first, second, distance = closest(DivisorPairs(divisors=(1.0,)).embed(np.arange(1001)))
    assert second - first == 710
    assert f"{distance:.2e}" == "6.03e-05"


def test_three_pairs_stay_apart_longer() -> None:
    rows = DivisorPairs().embed(np.arange(1001))
    wave = (math.sin, math.cos)
    expected = [[wave[i % 2](p / (1 + i // 2)) for i in range(6)] for p in range(1001)]
    # p/3 is rounded by the oracle: half an ulp of an angle up to 334.
    assert np.abs(rows - np.array(expected)).max() <= FLOAT64 + 334 * 2.0**-53
    first, second, distance = closest(rows)
    # Pairs turn, so that any two positions 377 apart are equally near; rounding alone picks 398 and 775 among them.
    assert second - first == 775 - 398
    assert f"{distance:.4f}" == f"{np.linalg.norm(rows[775] - rows[398]):.4f}" == "0.0104"


def test_river_bank() -> None:
    encoding = DivisorPairs(divisors=[1, 2, 3])
    assert encoding == DivisorPairs()
    assert encoding.width == 6
    assert encoding.embed(torch.tensor([[1]])).shape == (1, 1, 6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Count(start=0.5), TypeError, r"^start must be an integer from -1073741824 to 1073741824; got 0\.5"),
        (lambda: Count(start=2**31), ValueError, r"^start must be an integer from"),
        (lambda: NormalisedCount(length=0), ValueError, r"^length must be an integer from 1 to 1073741824; got 0"),
        (lambda: NormalisedCount(length=True), TypeError, r"^length must be an integer from 1"),
        (lambda: NormalisedCount(length=3, start="1"), TypeError, r"^start must be an integer from"),
        (lambda: DivisorPairs(divisors=()), TypeError, r"^divisors must be a tuple of numbers, at least one; got \(\)"),
        (lambda: DivisorPairs(divisors=2.0), TypeError, r"^divisors must be a tuple of numbers"),
        (lambda: DivisorPairs(divisors=(1.0, 0.0)), ValueError, r"^divisors must be a finite number from 1e-09"),
        (lambda: Count().embed([True]), TypeError, r"^positions must hold numbers; got bool"),
        (lambda: Count().embed([math.nan]), ValueError, r"^positions must be finite"),
        (lambda: OneSine().embed([math.inf]), ValueError, r"^positions must be finite"),
        (lambda: OneSine().embed([1], {"w": np.ones(1)}), ValueError, r"^params must hold exactly \[\] for OneSine"),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
