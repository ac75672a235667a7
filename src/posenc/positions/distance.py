"""Distance between two places."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import Any

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, check_broadcast, checked_pair

#: The farthest distance that 32-bit integers tell from others.
FARTHEST_NARROW = 2**31 - 1


def difference(
    query_positions: Array | Positions, key_positions: Array | Positions, like: Array | None = None
) -> Array:
    """Subtract query positions from key positions, exactly for integers up to 2^53.

    Args:
        query_positions: Positions of queries; they broadcast against those of keys.
        key_positions: Positions of keys.
        like: Array whose library plain numbers follow.

    Returns:
        key - query: integers, or the widest floats where positions are floats. Where there are no 64-bit numbers (JAX
        by default), ±(2^31 - 1) for positions 2^31 or more apart that cannot be read.

    Raises:
        TypeError: Positions have another dtype.
        ValueError: Positions are out of range, or 2^31 or more apart where there are no 64-bit numbers.

    Example:
        >>> difference([5], [3, 5, 9]).tolist()
        [-2, 0, 4]
    """
    query_positions, key_positions = checked_pair(query_positions, key_positions, like)
    _check_broadcast(query_positions, key_positions)
    return _difference(query_positions, key_positions)


def _check_broadcast(query_positions: Positions, key_positions: Positions) -> None:
    """Refuse positions whose shapes do not go together, or whose differences would not fit into memory."""
    here, there = query_positions.array.shape, key_positions.array.shape
    check_broadcast(here, there)
    if query_positions.readable and key_positions.readable:
        sizes = zip_longest(reversed(here), reversed(there), fillvalue=1)
        count = math.prod(keys if queries == 1 else queries for queries, keys in sizes)
        validation.size("query_positions and key_positions", count)


def _difference(query_positions: Positions, key_positions: Positions) -> Array:
    """Difference of positions that have been checked."""
    lib = query_positions.lib
    there, here = lib.signed(query_positions.array), lib.signed(key_positions.array)
    if lib.float64 or not (query_positions.integers and key_positions.integers):
        return here - there
    return _narrow(there, here, lib)


def steps(
    query_positions: Array | Positions, key_positions: Array | Positions, dtype: Any, like: Array | None = None
) -> Array:
    """Subtract query positions from key positions, as floats.

    Args:
        query_positions: Positions of queries; they broadcast against those of keys.
        key_positions: Positions of keys.
        dtype: Of the result; one of 16 bits means float32.
        like: Array whose library plain numbers follow.

    Returns:
        key - query; NaN for a position out of range, or a distance too far for 32 bits, that cannot be read.

    Raises:
        TypeError: Positions have another dtype.
        ValueError: Positions are out of range, or 2^31 or more apart where there are no 64-bit numbers.

    Example:
        >>> import numpy as np
        >>> steps([5], [3, 9], np.float32).tolist()
        [-2.0, 4.0]
    """
    query_positions, key_positions = checked_pair(query_positions, key_positions, like)
    dtype = query_positions.lib.result_dtype(dtype)
    _check_broadcast(query_positions, key_positions)
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
    """Difference in 32 bits, which does not wrap."""
    there, here = lib.extremes(query_positions), lib.extremes(key_positions)
    if there is not None and here is not None and max(here[1] - there[0], there[1] - here[0]) > FARTHEST_NARROW:
        raise ValueError(
            f"key_positions must be less than 2^31 away from query_positions where there are no 64-bit numbers; got "
            f"{here} and {there}. "
            "Enable 64-bit numbers (jax_enable_x64)."
        )
    xp, wrapped = lib.xp, key_positions - query_positions
    above = (key_positions >= 0) & (query_positions < 0) & (wrapped < 0)
    below = (key_positions < 0) & (query_positions >= 0) & (wrapped >= 0)
    farthest = xp.full_like(wrapped, FARTHEST_NARROW)
    return xp.where(above, farthest, xp.where(below, -farthest, wrapped))
