"""The oracles of maps that are no rotation of pairs, pinned to numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace as Fields

from oracles import cayley_string, multiplicative_grape

COS, SIN = math.cos(1), math.sin(1)


def rounded(values: list) -> list[float]:
    return [round(float(value), 12) for value in values]


def near(values: list[float]) -> list[float]:
    return [round(value, 12) for value in values]


def test_string_turns_by_the_sum_over_the_axes() -> None:
    record = Fields(dim=2, axes=2)
    params = {"frequencies": [[1.0], [10.0]], "A": [[0.0, 0.0], [0.0, 0.0]]}
    assert rounded(cayley_string.rotated(record, [1.0, 0.0], (-9, 1), "both", params)) == near([COS, SIN])


def test_the_cayley_transform_of_one_in_the_plane_is_a_quarter_turn() -> None:
    """S = [[0, 1], [-1, 0]]: (I - S)(I + S)⁻¹ is [[0, -1], [1, 0]], by hand; with it, channels 0 and 2 turn together."""
    assert rounded(cayley_string.orthogonal([[0.0, 1.0], [0.0, 0.0]])) == [0.0, -1.0, 1.0, 0.0]
    swap = [[0.0] * 4 for _ in range(4)]
    swap[1][2] = 1.0
    record, params = Fields(dim=4, axes=1), {"frequencies": [[1.0, 0.0]], "A": swap}
    assert rounded(cayley_string.rotated(record, [1.0, 5.0, 0.0, 7.0], 1, "both", params)) == near([COS, 5.0, SIN, 7.0])


def test_grape_turns_b_to_a() -> None:
    """L = a·bᵀ - b·aᵀ takes b to |b|²·a: in the plane of two unit vectors, b turns to a by the angle n·ω."""
    record, params = Fields(dim=3, rate=0.5), {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0]}
    assert rounded(multiplicative_grape.rotated(record, [0.0, 1.0, 4.0], 2, "both", params)) == near([SIN, COS, 4.0])
    wide = {"a": [2.0, 0.0, 0.0], "b": [7.0, 3.0, 0.0]}  # an area of 6, whatever lies along a
    assert rounded(multiplicative_grape.rotated(Fields(dim=3, rate=1 / 6), [0.0, 1.0, 4.0], 1, "both", wide)) == near(
        [SIN, COS, 4.0]
    )
