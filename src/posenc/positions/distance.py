"""The distance between two places."""

from __future__ import annotations

from typing import Any

from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, checked_pair

#: The farthest distance that 32-bit integers tell from others.
FARTHEST_NARROW = 2**31 - 1


def difference(query: Array | Positions, key: Array | Positions, like: Array | None = None) -> Array:
    """key - query, exact for integers up to 2^53; query and key broadcast.

    Where there are no 64-bit numbers (JAX by default) two positions 2^31 or more apart are a ValueError, or, where they
    cannot be seen, ±(2^31 - 1).

    >>> difference([5], [3, 5, 9]).tolist()
    [-2, 0, 4]
    """
    return _difference(*checked_pair(query, key, like))


def _difference(query: Positions, key: Positions) -> Array:
    lib = query.lib
    there, here = lib.signed(query.array), lib.signed(key.array)
    if lib.float64 or not (query.integers and key.integers):
        return here - there
    return _narrow(there, here, lib)


def steps(query: Array | Positions, key: Array | Positions, dtype: Any, like: Array | None = None) -> Array:
    """key - query as floats of a dtype, or of float32 where that has 16 bits.

    What `difference` cannot say while values are not seen is NaN here: a position out of range, a distance too far for
    32 bits.

    >>> import numpy as np
    >>> steps([5], [3, 9], np.float32).tolist()
    [-2.0, 4.0]
    """
    query, key = checked_pair(query, key, like)
    lib, distance = query.lib, _difference(query, key)
    floats = lib.astype(distance, lib.wide_dtype(dtype))
    whole = query.integers and key.integers
    if whole and lib.float64 and query.readable and key.readable:
        return floats  # which no guard could change
    floats = floats + lib.astype(query.guard() + key.guard(), floats.dtype)
    if lib.float64 or not whole:
        return floats
    xp = lib.xp
    return xp.where(xp.abs(distance) >= FARTHEST_NARROW, float("nan"), floats)


def _narrow(query: Array, key: Array, lib: Library) -> Array:
    """The difference in 32 bits, which does not wrap."""
    there, here = lib.extremes(query), lib.extremes(key)
    if there is not None and here is not None and max(here[1] - there[0], there[1] - here[0]) > FARTHEST_NARROW:
        raise ValueError(
            f"key must be less than 2^31 away from query where there are no 64-bit numbers; got {here} and {there}. "
            "Enable 64-bit numbers (jax_enable_x64)."
        )
    xp, wrapped = lib.xp, key - query
    above = (key >= 0) & (query < 0) & (wrapped < 0)
    below = (key < 0) & (query >= 0) & (wrapped >= 0)
    farthest = xp.full_like(wrapped, FARTHEST_NARROW)
    return xp.where(above, farthest, xp.where(below, -farthest, wrapped))
