"""A table stretched linearly over more or fewer positions than it has rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library


@dataclass(frozen=True)
class Stretch:
    """Linear stretch of a table: position p of 0 … extent-1 lies at p·(rows-1)/(extent-1).

    Args:
        rows: Rows of the table.
        extent: Number of positions.
    """

    rows: int
    extent: int

    def mixed(self, table: Array, positions: Array, lib: Library, dtype: Any) -> Array:
        """Mix neighbouring rows for every position: (1-w)·table[a] + w·table[a+1], where a + w is its place, 0 ≤ w < 1.

        The mixture is formed in the dtype; fractions are allowed. A position outside gives ValueError, or rows of NaN
        where it cannot be read.
        """
        row, step, guard = self._row_and_weight(positions, lib)
        xp, last = lib.xp, self.rows - 1
        step = lib.astype(step, dtype)[..., None]
        below, above = (lib.rows(table, xp.clip(each, 0, last), dtype) for each in (row, row + 1))
        return below * (1 - step) + above * step + lib.astype(guard, dtype)[..., None]

    def _row_and_weight(self, positions: Array, lib: Library) -> tuple[Array, Array, Array]:
        """Row at or below each position, the step from there in [0, 1), and a guard."""
        guard = inside(positions, self.extent - 1, lib)
        xp, astype = lib.xp, lib.astype
        safe = xp.where(guard == 0, positions, xp.zeros_like(positions))
        index = astype(lib.detach(safe), lib.integer)
        step = lib.constant(_steps(self), lib.real)[index]
        if arrays.kind(positions) == "float":
            rest = lib.widest(safe - astype(index, safe.dtype))
            step = step + rest * ((self.rows - 1) / max(self.extent - 1, 1))
        carry = xp.floor(step)
        row = lib.constant(_rows(self))[index] + astype(lib.detach(carry), index.dtype)
        return row, step - carry, guard


def inside(positions: Array, last: int, lib: Library) -> Array:
    """Check positions from 0 to `last`: 0.0 inside; outside, ValueError, or NaN where they cannot be read."""
    ends = lib.extremes(positions)
    if ends is not None and not (ends[0] >= 0 and ends[1] <= last):
        raise ValueError(
            f"positions must be from 0 to {last}, which is as far as the table reaches; got values from {ends[0]} to "
            f"{ends[1]}. Choose outside='clamp', 'wrap' or 'interpolate', or make the table longer with resized()."
        )
    xp = lib.xp
    zero = lib.widest(xp.zeros_like(positions))
    return xp.where((positions >= 0) & (positions <= last), zero, float("nan"))


def resized(table: Array, length: int) -> Array:
    """Stretch a table (rows, dim) linearly to (length, dim); its first and last row are kept.

    Row j of the result is (1-w)·table[a] + w·table[a+1], where a + w = j·(rows-1)/(length-1), 0 ≤ w < 1. The mixture is
    formed in float32 at least and rounded once.

    Args:
        table: Floats, (rows, dim), at least one row.
        length: Rows of the result; a single one is the first row.

    Returns:
        (length, dim), in the dtype of `table`.

    Raises:
        TypeError: `table` holds no numbers, or `length` is no whole number.
        ValueError: `table` has another shape or dtype, or `length` is out of range.

    Example:
        >>> import numpy as np
        >>> resized(np.array([[0.0], [3.0]]), 4).tolist()
        [[0.0], [1.0], [2.0], [3.0]]
    """
    table = arrays.as_array("table", table)
    if table.ndim != 2 or table.shape[0] < 1 or arrays.kind(table) not in ("float", "narrow"):
        raise ValueError(
            f"table must hold floats in shape (rows, dim), at least one row; got {arrays.dtype_name(table.dtype)} in "
            f"shape {tuple(table.shape)}. Give params['table']."
        )
    length = validation.integer("length", length, 1, 1 << 24)
    validation.size("table", math.prod(table.shape))
    validation.size("length", length * table.shape[1])
    lib, stretch = arrays.library(table), Stretch(table.shape[0], length)
    return lib.astype(stretch.mixed(table, lib.arange(length), lib, lib.wide_dtype(table.dtype)), table.dtype)


@arrays.host
def _rows(stretch: Stretch) -> np.ndarray:
    """Row at or below each position, decided in whole numbers; shape (extent,)."""
    return np.arange(stretch.extent, dtype=np.int64) * (stretch.rows - 1) // max(stretch.extent - 1, 1)


@arrays.host
def _steps(stretch: Stretch) -> np.ndarray:
    """Distance of each position past that row, as a fraction of a row; shape (extent,)."""
    whole = max(stretch.extent - 1, 1)
    return np.arange(stretch.extent, dtype=np.int64) * (stretch.rows - 1) % whole / whole
