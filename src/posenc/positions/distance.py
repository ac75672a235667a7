"""The distance between two places."""

from __future__ import annotations

from typing import Any

from posenc import _array
from posenc._array import Array
from posenc.phase import checked, guard

#: The farthest distance that 32-bit integers tell from others.
FARTHEST_NARROW = 2**31 - 1


def difference(query: Array, key: Array, like: Array | None = None) -> Array:
    """key - query, exact for integers up to 2^53; query and key broadcast.

    Where there are no 64-bit numbers (JAX by default) two positions 2^31 or more apart are a ValueError, or, where they
    cannot be seen, ±(2^31 - 1).

    >>> difference([5], [3, 5, 9]).tolist()
    [-2, 0, 4]
    """
    query, key = _array.as_arrays(query=query, key=key, like=like)
    _array.namespace(query, key)
    query, key = _array.signed(checked(query, "query")), _array.signed(checked(key, "key"))
    if _array.kind(query) == "integer" and _array.kind(key) == "integer" and not _array.has_float64(query):
        return _narrow(query, key)
    return key - query


def steps(query: Array, key: Array, dtype: Any, like: Array | None = None) -> Array:
    """key - query as floats of a dtype, or of float32 where that has 16 bits.

    What `difference` cannot say while values are not seen is NaN here: a position out of range, a distance too far for
    32 bits.

    >>> import numpy as np
    >>> steps([5], [3, 9], np.float32).tolist()
    [-2.0, 4.0]
    """
    query, key = _array.as_arrays(query=query, key=key, like=like)
    distance = difference(query, key)
    real = _array.wide_dtype(dtype, distance)
    floats = _array.astype(distance, real) + _array.astype(guard(query) + guard(key), real)
    if _array.kind(distance) == "float" or _array.has_float64(distance):
        return floats
    xp = _array.namespace(distance)
    return xp.where(xp.abs(distance) >= FARTHEST_NARROW, xp.full_like(floats, float("nan")), floats)


def _narrow(query: Array, key: Array) -> Array:
    """The difference in 32 bits, which does not wrap."""
    there, here = _array.extremes(query), _array.extremes(key)
    if there is not None and here is not None and max(here[1] - there[0], there[1] - here[0]) > FARTHEST_NARROW:
        raise ValueError(
            f"key must be less than 2^31 away from query where there are no 64-bit numbers; got {here} and {there}. "
            "Enable 64-bit numbers (jax_enable_x64)."
        )
    xp, wrapped = _array.namespace(query, key), key - query
    above = (key >= 0) & (query < 0) & (wrapped < 0)
    below = (key < 0) & (query >= 0) & (wrapped >= 0)
    farthest = xp.full_like(wrapped, FARTHEST_NARROW)
    return xp.where(above, farthest, xp.where(below, -farthest, wrapped))
