"""Sandwich is the inner product of two sinusoids, exact far out."""

from __future__ import annotations

import numpy as np
import pytest

from posenc import Sandwich, Sinusoidal


def test_it_is_the_inner_product_of_sinusoids() -> None:
    query_positions, key_positions, table = [7, 3, 90], [0, 90, 4, 17], Sinusoidal(dim=16, base=300.0)
    wanted = table.embed(query_positions) @ table.embed(key_positions).T
    found = Sandwich(heads=12, dim=16, base=300.0).matrix(query_positions, key_positions)
    # Sums of 16 products below 1 in another order, divided by at least 2/3.
    for head in range(12):
        assert np.abs(found[head] - wanted / (8 * (head + 1) / 12)).max() <= 20 * 2.0**-52 * 8 * 1.5


def test_far_positions_keep_their_distance() -> None:
    near = Sandwich(heads=2).matrix([3], [0, 3, 5])
    far = Sandwich(heads=2).matrix([2**53 - 10], [2**53 - 13, 2**53 - 10, 2**53 - 8])
    # Sums of 128 products with waves good to 3.5 units, divided by 4 and 8.
    assert np.abs(near - far).max() <= (128 + 12) * 64 * 2.0**-52 / 4


def test_the_ratios_of_alibi() -> None:
    assert Sandwich(heads=4).ratios().tolist() == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Sandwich(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: Sandwich(heads=1, dim=5), ValueError, r"^dim must be an even integer from 2 to 65536; got 5"),
        (lambda: Sandwich(heads=1, base=0.0), ValueError, r"^base must be a finite number above 0"),
        (lambda: Sandwich(heads=1).bias(1, 0, 1), ValueError, r"^head must be from 0 to 0; got values from 1 to 1"),
        (lambda: Sandwich(heads=1).matrix([float("nan")], [0]), ValueError, r"^query_positions must be finite"),
        (
            lambda: Sandwich(heads=1).matrix([0], [2**60]),
            ValueError,
            r"^key_positions must be finite and of magnitude at most 2\^53",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
