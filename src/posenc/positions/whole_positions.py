"""Positions that must be whole numbers, because they select a row of a table."""

from __future__ import annotations

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_NARROW_POSITION, LARGEST_POSITION, Positions, checked
from posenc.positions.distance import difference


def whole(name: str, positions: Array | Positions, like: Array | None = None) -> tuple[Array, Array]:
    """Positions as the widest integers, and a guard: 0.0, or NaN for a number that is not whole and could not be read.

    Floats that hold whole numbers pass. ValueError for a fraction where values can be read.

    Example:
        >>> whole("positions", [2.0, 5.0])[0].tolist()
        [2, 5]
    """
    positions = checked(positions, name, like)
    lib, xp = positions.lib, positions.lib.xp
    if positions.integers:
        return lib.signed(positions.array), positions.guard()
    limit = LARGEST_POSITION if lib.float64 else LARGEST_NARROW_POSITION
    exact = lib.detach(positions.array)
    fits = (xp.trunc(exact) == exact) & (xp.abs(exact) <= limit)
    if lib.concrete(fits) and not fits.all().item():
        raise ValueError(
            f"{name} must hold whole numbers, since each selects a row of a table; got "
            f"{exact[~fits].reshape(-1)[0].item()}. Round them, or take an encoding that is fractional."
        )
    index = lib.astype(xp.where(fits, exact, xp.zeros_like(exact)), lib.integer)
    zero = lib.widest(xp.zeros_like(positions.array))
    return index, xp.where(fits, zero, float("nan"))


def whole_difference(query_positions: Positions, key_positions: Positions) -> tuple[Array, Array | None]:
    """Difference key - query of whole positions, and a guard: 0.0, or NaN as in `whole`; both of the broadcast shape.

    The guard is None for integers that can be read, which need none.

    Example:
        >>> whole_difference(checked([5.0]), checked([3, 7]))[0].tolist()
        [-2, 2]
    """
    if all(each.integers and each.readable for each in (query_positions, key_positions)):
        return difference(query_positions, key_positions), None
    (there, there_guard), (here, here_guard) = (
        whole("query_positions", query_positions),
        whole("key_positions", key_positions),
    )
    steps = difference(
        query_positions._replace(array=there, integers=True), key_positions._replace(array=here, integers=True)
    )
    return steps, there_guard + here_guard


def whole_distances(query_positions: Positions, key_positions: Positions) -> tuple[Array, Array | None]:
    """Difference key - query of every pair of whole positions, (*batch, 1, n, m), and a guard.

    The guard is as in `whole_difference`.

    Example:
        >>> whole_distances(checked([5, 6]), checked([3, 7, 9]))[0].tolist()
        [[[-2, 2, 4], [-3, 1, 3]]]
    """
    return whole_difference(
        query_positions.part((..., None, slice(None), None)), key_positions.part((..., None, None, slice(None)))
    )


def guarded(score: Array, guard: Array | None) -> Array:
    """Add the guard of its distances to a score, so that invalid ones give NaN; without a guard return the score.

    Example:
        >>> import numpy as np
        >>> guarded(np.ones(1), None).tolist(), guarded(np.ones(1), np.full(1, np.nan)).tolist()
        ([1.0], [nan])
    """
    return score if guard is None else score + arrays.library(score).astype(guard, score.dtype)
