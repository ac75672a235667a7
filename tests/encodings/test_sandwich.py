"""Sandwich is the inner product of two sinusoids, exact far out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

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


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (5_000_004_095, range(5_000_000_000, 5_000_004_096)),  # beyond the narrow positions: as any pairs
        (1_004_095, range(1_000_000, 1_004_096)),
        (-70, range(-300, 700)),  # keys ahead of the query; the last block is not full
        (300, [*range(299), 300]),  # a gap
        (3, range(5)),
    ],
)
def test_one_query_against_consecutive_keys_gives_the_formula(library, query, keys):
    encoding = Sandwich(heads=2, dim=16)
    key = np.array(keys)
    distance = (key - query).astype(np.longdouble)
    rates = np.longdouble(10_000) ** -(np.arange(0, 16, 2, dtype=np.longdouble) / 16)
    want = np.cos(distance[:, None] * rates).sum(-1)[None, None] / np.array([4.0, 8.0])[:, None, None]
    at, to = (np.array([query]), key) if library == "numpy" else (torch.tensor([query]), torch.from_numpy(key))
    got = np.asarray(encoding.matrix(at, to, dtype=np.float64 if library == "numpy" else torch.float64))
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-14


def test_a_query_of_fractions_and_rows_of_keys_take_every_pair():
    encoding, keys = Sandwich(heads=1, dim=4), np.arange(300)
    several = np.stack([keys, keys + 5])
    for query, key in ((np.array([2.5]), keys), (np.array([[7], [7]]), several), (np.array([30], "uint8"), keys)):
        got = encoding.matrix(query, key)
        each = np.stack([encoding.bias(np.array([0]), query[..., 0], key[..., n]) for n in range(300)], -1)
        assert np.abs(got.reshape(each.shape) - each).max() <= 1e-15
