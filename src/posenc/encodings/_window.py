"""Windows of a grid: sizes of its axes, and whole distances along each."""

from __future__ import annotations

from typing import Any

from posenc import _check
from posenc._array import Array, Library
from posenc.checked_positions import Positions, coordinates
from posenc.positions.whole_positions import whole_difference

#: The longest side of a window.
LONGEST = 1 << 12


def sides(name: str, sizes: Any, least: int) -> tuple[int, ...]:
    """The sizes of two or more axes as plain numbers."""
    if not isinstance(sizes, tuple | list) or not 2 <= len(sizes) <= 4:
        raise TypeError(f"{name} must be a tuple of two to four sizes; got {_check.shown(sizes)}. Give (7, 7), say.")
    return tuple(_check.integer(name, size, least, LONGEST) for size in sizes)


def distances(query: Positions, key: Positions, axes: int) -> tuple[list[Array], Array]:
    """query - key along every axis, for whole coordinates on their last axis; and a guard, 0.0 or NaN."""
    pairs = zip(coordinates(query, axes, "query"), coordinates(key, axes, "key"), strict=True)
    differences, guards = zip(*(whole_difference(m, n) for m, n in pairs), strict=True)
    return [-difference for difference in differences], sum(guards[1:], guards[0])


def rows(steps: list[Array], window: tuple[int, ...], lib: Library) -> Array:
    """The row of a table of (2·size - 1) × … distances, the last axis counted fastest; beyond the window its edge."""
    row = 0
    for step, size in zip(steps, window, strict=True):
        row = row * (2 * size - 1) + lib.xp.clip(step, 1 - size, size - 1) + size - 1
    return row
