"""Positions that have been checked, with the library of the call: doors make them once, inner functions take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library

#: The largest position that has a float64 of its own and of its neighbours.
LARGEST_POSITION = 2**53
#: The same where there are no 64-bit numbers.
LARGEST_NARROW_POSITION = 2**31 - 128


class Positions(NamedTuple):
    """Positions as integers, float32 or float64, and what is known of them.

    Attributes:
        array: The positions.
        lib: Library of the array.
        integers: Whether they are integers.
        readable: Whether their values can be read now: not while tracing, nor of PyTorch on an accelerator.
        bounds: Numbers between which all of them lie; None where they cannot be read, or where there are none.
        documents: Document of each position, a number in the same shape; None where a row holds one document.
    """

    array: Array
    lib: Library
    integers: bool
    readable: bool
    bounds: tuple[Any, Any] | None
    documents: Array | None = None

    def with_array(self, array: Array) -> Positions:
        """Same positions in another shape, or some of them."""
        return self._replace(array=array)

    def part(self, index: Any) -> Positions:
        """Positions that an index picks, with their documents."""
        if self.documents is None:
            return self.with_array(self.array[index])
        return self._replace(array=self.array[index], documents=self.documents[index])

    def check_size(self, numbers: int, dtype: Any) -> None:
        """Refuse a table of `numbers` numbers per position that is too large to be intended, before it is allocated."""
        if self.readable and (count := numbers * math.prod(self.array.shape)) > validation.LARGEST_BYTES // 8:
            self.lib.check_size("positions", count, dtype, self.array)

    def guard(self, dtype: Any = None) -> Array:
        """Zeros to add to a result, but NaN where an unreadable position is out of range; None is the widest float."""
        xp, lib = self.lib.xp, self.lib
        zero = lib.astype(xp.zeros_like(self.array), dtype or lib.real)
        if self.readable:
            return zero
        name = arrays.dtype_name(self.array.dtype)
        if name in ("int8", "uint8", "int16", "uint16", "int32") or (lib.float64 and name == "uint32"):
            return zero
        limit = LARGEST_POSITION if lib.float64 else LARGEST_NARROW_POSITION
        inside = self.array <= limit
        if not name.startswith("uint"):  # -limit is no unsigned number
            inside = inside & (self.array >= -limit)
        return xp.where(inside, zero, float("nan"))  # no array of NaN, which jax_debug_nans would stop at


def checked(positions: Any, name: str = "positions", like: Array | None = None) -> Positions:
    """Check positions, once: `Positions` are returned as they are.

    Args:
        positions: Integers, float32 or float64 of magnitude at most 2^53, as an array, a number or a list.
        name: Name of the argument, for messages.
        like: Array whose library they must have, and whose library and device numbers and lists follow.

    Returns:
        The positions with their library and bounds.

    Raises:
        TypeError: Positions are 16-bit floats or no numbers.
        ValueError: Positions that can be read are not finite or too large.

    Example:
        >>> checked([0, 7]).bounds
        (0, 7)
    """
    if isinstance(positions, Positions):
        return positions
    array = arrays.as_array(name, positions, like)
    validation.rank(name, array)
    kind = arrays.kind(array)
    if kind == "narrow":
        raise TypeError(
            f"{name} must be integers, float32 or float64; got {arrays.dtype_name(array.dtype)}, which does not "
            "hold every whole number. Build positions as integers; they never take the model's dtype."
        )
    lib = arrays.library(array) if like is None or kind == "other" else arrays.library(array, like)
    if kind == "other" or (lib.name == "torch" and array.dtype == lib.xp.uint64):
        raise TypeError(
            f"{name} must be integers, float32 or float64; got {arrays.dtype_name(array.dtype)}. Convert them."
        )
    if lib.name == "torch" and array.dtype in (lib.xp.uint16, lib.xp.uint32):
        array = lib.signed(array)  # PyTorch stores these and compares none of them
    bounds = lib.extremes(array)
    if bounds is not None:
        validation.size(name, math.prod(array.shape))
    if bounds is not None and not (bounds[0] > -LARGEST_NARROW_POSITION and bounds[1] < LARGEST_NARROW_POSITION):
        check_range(name, bounds, lib.float64)
    readable = bounds is not None or lib.concrete(array)
    return Positions(array, lib, kind == "integer", readable, bounds)


def check_like(like: Any) -> None:
    """Refuse a `like` that is neither an array, a `Library` nor None."""
    if like is not None and not isinstance(like, Library) and arrays.library_name(like) is None:
        raise TypeError(f"like must be a NumPy, PyTorch or JAX array; got {validation.shown(like)}. Leave it out.")


def checked_pair(query_positions: Any, key_positions: Any, like: Array | None = None) -> tuple[Positions, Positions]:
    """Check positions of queries and of keys, of one library: numbers and lists follow the other array, or `like`."""
    check_like(like)
    if isinstance(query_positions, Positions) and isinstance(key_positions, Positions):
        if query_positions.lib.name == key_positions.lib.name:
            return query_positions, key_positions
    elif like is None:
        given = (each for each in (query_positions, key_positions) if arrays.library_name(each) is not None)
        like = next(given, None)
    query_positions, key_positions = (
        checked(query_positions, "query_positions", like),
        checked(key_positions, "key_positions", like),
    )
    if query_positions.lib.name != key_positions.lib.name:
        arrays.library(query_positions.array, key_positions.array)  # whose error names the two
    return query_positions, key_positions


def broadcast(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Say whether two shapes broadcast against each other.

    Example:
        >>> broadcast((2, 1, 4), (3, 4)), broadcast((2, 4), (3, 4))
        (True, False)
    """
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if not (one == 1 or other == 1 or one == other):
            return False
    return True


def check_broadcast(queries: Sequence[Any], keys: Sequence[Any]) -> None:
    """Refuse shapes of query and key positions that do not broadcast; an axis of coordinates is not among them."""
    if not broadcast(queries, keys):
        raise ValueError(
            f"query_positions and key_positions must broadcast; got shapes {tuple(queries)} and {tuple(keys)}. Give "
            "query_positions[:, None] for every pair."
        )


def check_range(name: str, bounds: tuple[Any, Any], float64: bool) -> None:
    """Refuse bounds that are not finite, or beyond what the library's numbers hold."""
    least, greatest = bounds
    if not (least >= -LARGEST_POSITION and greatest <= LARGEST_POSITION):
        remedy = "Give smaller positions." if math.isfinite(greatest - least) else "Give a number for every token."
        raise ValueError(
            f"{name} must be finite and of magnitude at most 2^53; got values from {least} to {greatest}. {remedy}"
        )
    if not float64 and max(-least, greatest) >= 2**31:
        raise ValueError(
            f"{name} must be below 2^31 in magnitude where there are no 64-bit numbers; got values from {least} to "
            f"{greatest}. Enable 64-bit numbers (jax_enable_x64)."
        )


def split_coordinates(positions: Positions, axes: int, name: str = "positions") -> tuple[Positions, ...]:
    """Split positions (*batch, n, axes) into their coordinates, each of shape (*batch, n).

    Example:
        >>> [part.array.tolist() for part in split_coordinates(checked([[0, 7], [1, 8]]), 2)]
        [[0, 1], [7, 8]]
    """
    shape = tuple(positions.array.shape)
    if not shape or shape[-1] != axes:
        raise ValueError(
            f"{name} must have a last axis of {axes} coordinates; got shape {shape}. Give (*batch, n, {axes})."
        )
    return tuple(positions.part((..., axis)) for axis in range(axes))


def along_axes(positions: Positions, axes: int, name: str = "positions") -> tuple[Positions, ...]:
    """Coordinates of positions for any number of axes; positions of one axis are (*batch, n) themselves."""
    return split_coordinates(positions, axes, name) if axes > 1 else (positions,)


def order_guard(query_positions: Positions, key_positions: Positions, rule: str) -> Array | None:
    """Check that positions agree with a mask by index.

    By index, the last query stands at the last key, so each query has a key of its own. Positions agree if no key up
    to a query's own has a greater position than the query, and every later key has one. A later key may share the
    query's position if its own key does too: among equal positions, indices decide. Of documents that stand one after
    another in a row, each agrees by itself, and a query's own key is of its document.

    Args:
        query_positions: (n,) or (batch, n), of one coordinate, with their documents where a row holds several.
        key_positions: (m,) or (batch, m), likewise.
        rule: Argument that masks by index, for the message.

    Returns:
        None where values agree. Where they cannot be read: 0.0, or NaN for each row that contradicts, (batch or 1, 1,
        1, 1), to be added to the output.

    Raises:
        ValueError: Positions that can be read contradict the mask.

    Example:
        >>> order_guard(checked([5, 6]), checked(range(7)), "causal")
    """
    lib, here, there = query_positions.lib, query_positions.array, key_positions.array
    if 0 in here.shape or 0 in there.shape:
        return None
    of_query, of_key = query_positions.documents, key_positions.documents
    if of_query is None and _is_step_behind(query_positions, key_positions):
        return None
    here, there = lib.signed(here), lib.signed(there)
    wrong = _contradicts(here, there, of_query, of_key, lib)
    if not lib.concrete(wrong):
        return lib.xp.where(wrong, float("nan"), 0.0).reshape((-1, 1, 1, 1))
    if wrong.any():
        documents = (here != here, there != there) if of_query is None else (of_query, of_key)
        sides = [np.asarray(lib.detach(side)) for side in (here, there, *documents)]
        _refuse(sides, int(np.argmax(np.asarray(wrong))), rule)
    return None


def _is_step_behind(query_positions: Positions, key_positions: Positions) -> bool:
    """Whether this is a step of decoding, of which everything is known already."""
    if query_positions.array.shape[-1] != 1 or not query_positions.bounds or not key_positions.bounds:
        return False
    return bool(key_positions.bounds[1] <= query_positions.bounds[0])


def _contradicts(query: Any, key: Any, of_query: Any, of_key: Any, lib: Library) -> Any:
    """True for each row whose positions contradict a mask by index.

    Only neighbours are compared: where they agree, keys rise from the first query's own one on.
    """
    xp, ahead = lib.xp, key.shape[-1] - query.shape[-1]
    if ahead < 0:  # as a window allows: its first queries stand before all keys
        early = query[..., :-ahead] >= key[..., :1]
        wrong = _of_one(early, of_query, of_key, slice(-ahead), slice(1)).any(-1)
        query, of_query, ahead = query[..., -ahead:], None if of_query is None else of_query[..., -ahead:], 0
    else:
        late = key[..., : ahead + 1] > query[..., :1]
        wrong = _of_one(late, of_query, of_key, slice(1), slice(ahead + 1)).any(-1)
    own, index = key[..., ahead:], lib.arange(query.shape[-1])
    # Not slices without the first or last, whose lengths would bound those of an exported program.
    following, is_last = xp.roll(own, -1, -1), index == query.shape[-1] - 1
    seen = xp.where(own == query, following < query, following <= query) & ~is_last
    if of_query is not None:
        seen = seen & (xp.roll(of_key[..., ahead:], -1, -1) == of_query)
        wrong = wrong | (of_key[..., ahead:] != of_query).any(-1)
    return wrong | (own > query).any(-1) | seen.any(-1)


def _of_one(pairs: Any, of_query: Any, of_key: Any, queries: slice, keys: slice) -> Any:
    """The pairs of a query and a key that are of one document."""
    return pairs if of_query is None else pairs & (of_query[..., queries] == of_key[..., keys])


def _refuse(sides: list[np.ndarray], row: int, rule: str) -> NoReturn:
    """Raise the error that names a query of this row which would see a key too many or too few.

    `sides` are the positions of queries and of keys and their documents, each in one row, or in a row each.
    """
    here, there, of_query, of_key = (side[row % len(side)] for side in map(np.atleast_2d, sides))
    own = np.arange(len(here)) + len(there) - len(here)
    other = (own >= 0) & (of_key[np.maximum(own, 0)] != of_query)
    if other.any():
        index = int(np.argmax(other))
        raise ValueError(
            f"{rule} goes by index, the last query at the last key, and documents must agree with that; got query "
            f"{index} of document {of_query[index]} at key {own[index]} of document {of_key[own[index]]}. Give keys up "
            f"to the last query alone, or leave {rule} and documents out and give mask=, True where a query may see a "
            "key."
        )
    parts = ((np.flatnonzero(of_query == each), np.flatnonzero(of_key == each)) for each in np.unique(of_query))
    query, key, hidden = next(filter(None, (_misplaced(here, there, own, *part) for part in parts)))
    raise ValueError(
        f"{rule} goes by index, the last query at the last key, and positions must agree with that; got query {query} "
        f"at position {here[query]}, which would {'not ' if hidden else ''}see key {key} at position {there[key]}. "
        f"Give documents= where a row holds several, or leave {rule} out and give mask=, True where a query may see a "
        "key."
    )


def _misplaced(
    here: np.ndarray, there: np.ndarray, own: np.ndarray, queries: np.ndarray, keys: np.ndarray
) -> tuple[int, int, bool] | None:
    """First of these queries that by position would see other ones of these keys, a key, and whether it is hidden."""
    visible = np.searchsorted(keys, own[queries], side="right")  # keys up to its own
    here, there = here[queries], there[keys]
    highest = np.append(-np.inf, np.maximum.accumulate(there))[visible]
    lowest = np.append(np.minimum.accumulate(there[::-1])[::-1], np.inf)[visible]
    shared = np.append(np.nan, there)[visible] == here
    many, few = highest > here, (lowest < here) | ((lowest == here) & ~shared)
    if not (many | few).any():
        return None
    index = int(np.argmax(many | few))
    count = visible[index]
    key = int(np.argmax(there[:count]) if many[index] else count + np.argmin(there[count:]))
    return int(queries[index]), int(keys[key]), not many[index]
