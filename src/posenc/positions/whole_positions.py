"""Positions that must be whole numbers, because they select a row of a table."""

from __future__ import annotations

from posenc import _array
from posenc._array import Array
from posenc.phase import LARGEST_POSITION, checked, guard


def whole(name: str, positions: Array, like: Array | None = None) -> tuple[Array, Array]:
    """Positions as the widest integers, and a guard: 0.0, or NaN for a number that is not whole and could not be seen.

    Floats that hold whole numbers pass. ValueError for a fraction where values can be seen.

    >>> whole("positions", [2.0, 5.0])[0].tolist()
    [2, 5]
    """
    positions = checked(_array.as_array(name, positions, like), name)
    xp, real = _array.namespace(positions), _array.widest_dtype(positions)
    if _array.kind(positions) == "integer":
        return _array.signed(positions), guard(positions)
    zero = _array.astype(xp.zeros_like(positions), real)
    limit = LARGEST_POSITION if _array.has_float64(positions) else 2**31 - 128
    exact = _array.detach(positions)
    fits = (xp.trunc(exact) == exact) & (xp.abs(exact) <= limit)
    if _array.concrete(fits) and not fits.all().item():
        raise ValueError(
            f"{name} must hold whole numbers, since each selects a row of a table; got {exact[~fits].reshape(-1)[0].item()}. "
            "Round them, or take an encoding that is fractional."
        )
    index = xp.where(fits, exact, xp.zeros_like(exact))
    index = _array.astype(index, _array.dtype_of("int64" if _array.has_float64(positions) else "int32", positions))
    return index, xp.where(fits, zero, xp.full_like(zero, float("nan")))
