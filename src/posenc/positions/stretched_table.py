"""A table stretched linearly over more or fewer positions than it has rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc import _array, _check
from posenc._array import Array


@dataclass(frozen=True)
class Stretch:
    """Position p of 0 … extent-1 lies at p·(rows-1)/(extent-1) in a table of `rows` rows: first and last row are kept."""

    rows: int
    extent: int

    def mixed(self, table: Array, positions: Array) -> Array:
        """(1-w)·table[a] + w·table[a+1] for every position, where a + w is its place, 0 ≤ w < 1; fractions are allowed.

        A position outside gives ValueError, or rows of NaN where it cannot be seen.
        """
        row, step, guard = self._place(positions)
        xp, last = _array.namespace(table, row), self.rows - 1
        step = _array.astype(step, table.dtype)[..., None]
        mixture = table[xp.clip(row, 0, last)] * (1 - step) + table[xp.clip(row + 1, 0, last)] * step
        return mixture + _array.astype(guard, table.dtype)[..., None]

    def _place(self, positions: Array) -> tuple[Array, Array, Array]:
        """The row at or below each position, the step from there in [0, 1), and a guard."""
        guard = inside(positions, self.extent - 1)
        xp, real = _array.namespace(positions), guard.dtype
        safe = xp.where(guard == 0, positions, xp.zeros_like(positions))
        index = _array.signed(_array.astype(_array.detach(safe), _array.dtype_of("int32", safe)))
        step = _array.constant(_steps(self), guard, real)[index]
        if _array.kind(positions) == "float":
            rest = _array.astype(safe - _array.astype(index, safe.dtype), real)
            step = step + rest * ((self.rows - 1) / max(self.extent - 1, 1))
        carry = xp.floor(step)
        row = _array.constant(_rows(self), index)[index] + _array.astype(_array.detach(carry), index.dtype)
        return row, step - carry, guard


def inside(positions: Array, last: int) -> Array:
    """0.0 for positions from 0 to `last`; for others ValueError, or NaN where they cannot be seen."""
    ends = _array.extremes(positions)
    if ends is not None and not (ends[0] >= 0 and ends[1] <= last):
        raise ValueError(
            f"positions must be from 0 to {last}, which is as far as the table reaches; got values from {ends[0]} to {ends[1]}. "
            "Choose outside='clamp', 'wrap' or 'interpolate', or make the table longer with resized()."
        )
    xp, real = _array.namespace(positions), _array.widest_dtype(positions)
    zero = _array.astype(xp.zeros_like(positions), real)
    return xp.where((positions >= 0) & (positions <= last), zero, xp.full_like(zero, float("nan")))


def resized(table: Array, length: int) -> Array:
    """A table (rows, dim) stretched linearly to (length, dim), its first and last row kept.

    Row j of the result is (1-w)·table[a] + w·table[a+1], where a + w = j·(rows-1)/(length-1), 0 ≤ w < 1. The mixture is
    formed in float32 at least and rounded once to the dtype of the table. A single row asked for is the first.
    Raises ValueError or TypeError naming the argument.

    >>> import numpy as np
    >>> resized(np.array([[0.0], [3.0]]), 4).tolist()
    [[0.0], [1.0], [2.0], [3.0]]
    """
    table = _array.as_array("table", table)
    if table.ndim != 2 or table.shape[0] < 1 or _array.kind(table) not in ("float", "narrow"):
        raise ValueError(
            f"table must hold floats in shape (rows, dim), at least one row; got {_array.dtype_name(table.dtype)} in shape "
            f"{tuple(table.shape)}. Give params['table']."
        )
    length = _check.integer("length", length, 1, 1 << 24)
    _check.size("length", length * table.shape[1])
    stretch = Stretch(table.shape[0], length)
    return _array.astype(stretch.mixed(_array.wide(table), _array.arange(length, table)), table.dtype)


@_array.host
def _rows(stretch: Stretch) -> np.ndarray:
    """The row at or below each position, decided in whole numbers; shape (extent,)."""
    return np.arange(stretch.extent, dtype=np.int64) * (stretch.rows - 1) // max(stretch.extent - 1, 1)


@_array.host
def _steps(stretch: Stretch) -> np.ndarray:
    """How far past that row each position lies, as a fraction of a row; shape (extent,)."""
    whole = max(stretch.extent - 1, 1)
    return np.arange(stretch.extent, dtype=np.int64) * (stretch.rows - 1) % whole / whole
