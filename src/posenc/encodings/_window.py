"""Helpers for encodings on a grid: window sizes, integer distances along each axis, and rows of a table."""

from __future__ import annotations

from collections.abc import Iterator

from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, split_coordinates
from posenc.core.declared_fields import TupleOf, Whole
from posenc.positions.whole_positions import whole_difference

#: The longest side of a window.
LONGEST = 1 << 12


def sizes_of_window(least: int) -> TupleOf:
    """Make the field validator for a tuple of two to four window sizes, each at least `least`."""
    return TupleOf(Whole(least, LONGEST), "a tuple of two to four sizes", "Give (7, 7), say.", 2, 4)


def coordinate_pairs(query: Positions, key: Positions, axes: int) -> Iterator[tuple[Positions, Positions]]:
    """Split query and key positions into coordinates, and pair them axis by axis."""
    queries = split_coordinates(query, axes, "query_positions")
    return zip(queries, split_coordinates(key, axes, "key_positions"), strict=True)


def distances(query: Positions, key: Positions, axes: int) -> tuple[list[Array], Array | None]:
    """Compute integer distances query - key, one array an axis, and their guard (0.0, or NaN where invalid) or None."""
    pairs = coordinate_pairs(query, key, axes)
    differences, guards = zip(*(whole_difference(m, n) for m, n in pairs), strict=True)
    needed = [guard for guard in guards if guard is not None]
    return [-difference for difference in differences], sum(needed[1:], needed[0]) if needed else None


def window_rows(steps: list[Array], window: tuple[int, ...], lib: Library) -> Array:
    """Compute rows of a flattened table of (2·size - 1) × … distances, last axis fastest, clipped to the window."""
    row = 0
    for step, size in zip(steps, window, strict=True):
        row = row * (2 * size - 1) + lib.xp.clip(step, 1 - size, size - 1) + size - 1
    return row
