"""Windows of a grid: sizes of its axes, and whole distances along each."""

from __future__ import annotations

from typing import Any

from posenc import _array, _check
from posenc._array import Array
from posenc.positions.coordinates import coordinates
from posenc.positions.distance import difference
from posenc.positions.whole_positions import whole

#: The longest side of a window.
LONGEST = 1 << 12


def sides(name: str, sizes: Any, least: int) -> tuple[int, ...]:
    """The sizes of two or more axes as plain numbers."""
    if not isinstance(sizes, tuple | list) or not 2 <= len(sizes) <= 4:
        raise TypeError(f"{name} must be a tuple of two to four sizes; got {_check.shown(sizes)}. Give (7, 7), say.")
    return tuple(_check.integer(name, size, least, LONGEST) for size in sizes)


def distances(query: Array, key: Array, axes: int, like: Array) -> tuple[list[Array], Array]:
    """query - key along every axis, for whole coordinates on their last axis; and a guard, 0.0 or NaN."""
    pairs = zip(coordinates("query", query, axes, like=like), coordinates("key", key, axes, like=like), strict=True)
    found, guard = [], None
    for m, n in pairs:
        (m, m_guard), (n, n_guard) = whole("query", m), whole("key", n)
        found.append(-difference(m, n))
        guard = m_guard + n_guard if guard is None else guard + m_guard + n_guard
    return found, guard


def rows(steps: list[Array], window: tuple[int, ...]) -> Array:
    """The row of a table of (2·size - 1) × … distances, the last axis counted fastest; beyond the window its edge."""
    xp, row = _array.namespace(*steps), 0
    for step, size in zip(steps, window, strict=True):
        row = row * (2 * size - 1) + xp.clip(step, 1 - size, size - 1) + size - 1
    return row
