"""The distance between two places."""

from __future__ import annotations

from typing import Any

from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, checked_pair

#: The farthest distance that 32-bit integers tell from others.
FARTHEST_NARROW = 2**31 - 1


def difference(
    query_positions: Array | Positions, key_positions: Array | Positions, like: Array | None = None
) -> Array:
    """key - query, exact for integers up to 2^53; query and key broadcast.

    Where there are no 64-bit numbers (JAX by default) two positions 2^31 or more apart are a ValueError, or, where they
    cannot be seen, ±(2^31 - 1).

    Example:
        >>> difference([5], [3, 5, 9]).tolist()
        [-2, 0, 4]
    """
    return _difference(*checked_pair(query_positions, key_positions, like))


def _difference(query_positions: Positions, key_positions: Positions) -> Array:
    lib = query_positions.lib
    there, here = lib.signed(query_positions.array), lib.signed(key_positions.array)
    if lib.float64 or not (query_positions.integers and key_positions.integers):
        return here - there
    return _narrow(there, here, lib)


def steps(
    query_positions: Array | Positions, key_positions: Array | Positions, dtype: Any, like: Array | None = None
) -> Array:
    """key - query as floats of a dtype, or of float32 where that has 16 bits.

    What `difference` cannot say while values are not seen is NaN here: a position out of range, a distance too far for
    32 bits.

    Example:
        >>> import numpy as np
        >>> steps([5], [3, 9], np.float32).tolist()
        [-2.0, 4.0]
    """
    query_positions, key_positions = checked_pair(query_positions, key_positions, like)
    lib, distance = query_positions.lib, _difference(query_positions, key_positions)
    floats = lib.astype(distance, lib.wide_dtype(dtype))
    whole = query_positions.integers and key_positions.integers
    if whole and lib.float64 and query_positions.readable and key_positions.readable:
        return floats  # which no guard could change
    floats = floats + lib.astype(query_positions.guard() + key_positions.guard(), floats.dtype)
    if lib.float64 or not whole:
        return floats
    xp = lib.xp
    return xp.where(xp.abs(distance) >= FARTHEST_NARROW, float("nan"), floats)


def _narrow(query_positions: Array, key_positions: Array, lib: Library) -> Array:
    """The difference in 32 bits, which does not wrap."""
    there, here = lib.extremes(query_positions), lib.extremes(key_positions)
    if there is not None and here is not None and max(here[1] - there[0], there[1] - here[0]) > FARTHEST_NARROW:
        raise ValueError(
            f"key must be less than 2^31 away from query where there are no 64-bit numbers; got {here} and {there}. "
            "Enable 64-bit numbers (jax_enable_x64)."
        )
    xp, wrapped = lib.xp, key_positions - query_positions
    above = (key_positions >= 0) & (query_positions < 0) & (wrapped < 0)
    below = (key_positions < 0) & (query_positions >= 0) & (wrapped >= 0)
    farthest = xp.full_like(wrapped, FARTHEST_NARROW)
    return xp.where(above, farthest, xp.where(below, -farthest, wrapped))
