"""Windows of a grid: sizes of its axes, and whole distances along each."""

from __future__ import annotations

from collections.abc import Iterator

from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, split_coordinates
from posenc.core.declared_fields import TupleOf, Whole
from posenc.positions.whole_positions import whole_difference

#: The longest side of a window.
LONGEST = 1 << 12


def sizes_of_window(least: int) -> TupleOf:
    """The rule for the sizes of two to four axes, each from `least`."""
    return TupleOf(Whole(least, LONGEST), "a tuple of two to four sizes", "Give (7, 7), say.", 2, 4)


def coordinate_pairs(query: Positions, key: Positions, axes: int) -> Iterator[tuple[Positions, Positions]]:
    """Coordinates of the queries and of the keys, axis by axis."""
    queries = split_coordinates(query, axes, "query_positions")
    return zip(queries, split_coordinates(key, axes, "key_positions"), strict=True)


def distances(query: Positions, key: Positions, axes: int) -> tuple[list[Array], Array | None]:
    """Distances query - key along every axis, for whole coordinates on their last axis; and a guard or None."""
    pairs = coordinate_pairs(query, key, axes)
    differences, guards = zip(*(whole_difference(m, n) for m, n in pairs), strict=True)
    needed = [guard for guard in guards if guard is not None]
    return [-difference for difference in differences], sum(needed[1:], needed[0]) if needed else None


def window_rows(steps: list[Array], window: tuple[int, ...], lib: Library) -> Array:
    """The row of a table of (2·size - 1) × … distances, the last axis counted fastest; beyond the window its edge."""
    row = 0
    for step, size in zip(steps, window, strict=True):
        row = row * (2 * size - 1) + lib.xp.clip(step, 1 - size, size - 1) + size - 1
    return row
