"""Keys in the order of their positions, sorted once for all scores that sum over them."""

from __future__ import annotations

from typing import Any, NamedTuple

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, checked
from posenc.positions.distance import difference


class OrderedKeys(NamedTuple):
    """Keys in the order of their documents and, within a document, of their positions.

    Attributes:
        key: Their positions in this order.
        order: Index of the given key at each place, (*batch, m); None where they were given in order, which can be seen
            only where positions can be read.
        guard: NaN for a row in which a position is out of range or occurs twice, else 0.0, (*batch, 1); None where
            positions can be read, so that such a row is an error.
    """

    key: Positions
    order: Array | None
    guard: Array | None

    def of(self, x: Array) -> Array:
        """Sort vectors of the keys as they were given, (*batch, …, m, width), into their order."""
        if self.order is None:
            return x
        lib, columns = self.key.lib, x.swapaxes(-1, -2)
        return lib.take_along(columns, lib.xp.broadcast_to(self._aligned(self.order, x), columns.shape)).swapaxes(
            -1, -2
        )

    def back(self, x: Array) -> Array:
        """Sort numbers of keys in order, (*batch, …, m), back to the keys as they were given."""
        if self.order is None:
            return x
        lib = self.key.lib
        places = self._aligned(lib.xp.argsort(self.order, -1), x)
        return lib.take_along(x, lib.xp.broadcast_to(places, x.shape))

    def part(self, some: slice) -> OrderedKeys:
        """Some consecutive keys alone, of keys that were given in order."""
        return self._replace(key=self.key.part((..., some)))

    def before_all(self, query: Positions) -> int:
        """Number of first keys that lie before every query; 0 where it cannot be read, or documents share a row.

        Example:
            >>> ordered([0, 1, 5, 6]).before_all(checked([5, 6]))
            2
        """
        lib = self.key.lib
        if self.key.documents is not None or query.documents is not None or query.bounds is None:
            return 0
        counts = lib.extremes((lib.signed(self.key.array) < query.bounds[0]).sum(-1))
        return 0 if counts is None else int(counts[0])

    def reached(self, query: Positions) -> Array:
        """Mask of keys that are of the document of the query and not behind it; (*batch, n, m)."""
        return _in_one_document(query, self.key, _pairs(query, self.key) <= 0)

    def before(self, query: Positions) -> Array:
        """Mask of keys that are of the document of the query and before it; (*batch, n, m)."""
        return _in_one_document(query, self.key, _pairs(query, self.key) < 0)

    def rank(self, pairs: Array, query: Positions) -> Array:
        """Count for each query the keys of earlier documents and those that the mask `pairs` selects; (*batch, n).

        Example:
            >>> keys = ordered([20, 10, 30])
            >>> keys.rank(keys.reached(checked([25])), checked([25])).tolist()
            [2]
        """
        documents = self.key.documents
        if documents is not None and query.documents is not None:
            pairs = pairs | (documents[..., None, :] < query.documents[..., :, None])
        return self.key.lib.astype(pairs.sum(-1), self.key.lib.integer)

    def later(self, block: slice) -> Array:
        """Mask [l, n] of consecutive keys: key l comes after key n in their document; (*batch or none, l, n)."""
        index = self.key.lib.arange(self.key.array.shape[-1])[block]
        later, documents = index[:, None] > index, self.key.documents
        if documents is None:
            return later
        documents = documents[..., block]
        return later & (documents[..., :, None] == documents[..., None, :])

    def same_document(self, places: int) -> Array:
        """Mask of keys that have a key of their own document `places` places before them; (*batch or none, m)."""
        lib = self.key.lib
        there = lib.arange(self.key.array.shape[-1]) >= places
        documents = self.key.documents
        return there if documents is None else there & (lib.xp.roll(documents, places, -1) == documents)

    def _aligned(self, index: Array, x: Array) -> Array:
        """Reshape an index (*batch, m) to broadcast against x, (*batch, …, m)."""
        between = (1,) * (x.ndim - index.ndim)
        return index.reshape((*index.shape[:-1], *between, index.shape[-1]))


def ordered(key: Array | Positions) -> OrderedKeys:
    """Sort keys, (m,) or (*batch, m), with their documents; ValueError for a position that a document holds twice.

    Example:
        >>> ordered([5, 0, 1]).key.array.tolist(), ordered([5, 0, 1]).order.tolist(), ordered([0, 1, 5]).order
        ([0, 1, 5], [1, 2, 0], None)
    """
    key = checked(key, "key_positions")
    lib = key.lib
    rises = _follows(key, lambda later, earlier: later > earlier).all()
    if lib.concrete(rises) and rises.item():
        return OrderedKeys(key, None, None)  # none of them occurs twice
    order = _order(key)
    documents = None if key.documents is None else _picked(key.documents, order, key)
    key = key._replace(array=_picked(key.array, order, key), documents=documents)
    return OrderedKeys(key, order, _guard(key))


def _picked(numbers: Array, order: Array, key: Positions) -> Array:
    """Sort numbers, which may lack batch axes, by the order of the keys; (*batch, m)."""
    return key.lib.take_along(key.lib.xp.broadcast_to(numbers, order.shape), order)


def _order(key: Positions) -> Array:
    """Indices that sort keys by document and then by position."""
    lib = key.lib
    positions = lib.signed(key.array)
    if key.documents is None:
        return lib.order(positions)
    documents = key.documents + lib.xp.zeros_like(positions)
    positions = positions + lib.xp.zeros_like(documents)
    by_position = lib.order(positions)
    return lib.take_along(by_position, lib.order(lib.take_along(documents, by_position)))


def _follows(key: Positions, compared: Any) -> Array:
    """Compare each key's position with that of the key before; between two documents, compare the documents."""
    positions, documents = key.lib.signed(key.array), key.documents
    holds = compared(positions[..., 1:], positions[..., :-1])
    if documents is None:
        return holds
    later, earlier = documents[..., 1:], documents[..., :-1]
    return ((later == earlier) & holds) | compared(later, earlier)


def _guard(key: Positions) -> Array | None:
    """NaN for rows with a repeated or invalid position, else 0.0, (*batch, 1); where readable, ValueError or None."""
    lib, xp = key.lib, key.lib.xp
    repeated = key.lib.signed(key.array)[..., 1:] == key.lib.signed(key.array)[..., :-1]
    if key.documents is not None:
        repeated = repeated & (key.documents[..., 1:] == key.documents[..., :-1])
    if not lib.concrete(repeated):  # in JAX what is made of numbers that can be read may still be traced
        guard = key.guard().sum(-1)[..., None]
        return xp.where(repeated.any(-1)[..., None], xp.full_like(guard, float("nan")), guard)
    if repeated.any().item():
        position = xp.broadcast_to(key.array[..., 1:], repeated.shape)[repeated].reshape(-1)[0].item()
        raise ValueError(
            f"key_positions must hold each position once, since this score reads the keys in between; got {position} "
            "twice. Number padding behind the tokens, as posenc.positions.from_mask does, and say which documents are "
            "packed: documents=(of queries, of keys)."
        )
    return None


def _pairs(query_positions: Positions, key_positions: Positions) -> Array:
    """Difference key - query for every pair, (*batch, n, m)."""
    return difference(query_positions.part((..., slice(None), None)), key_positions.part((..., None, slice(None))))


def _in_one_document(query_positions: Positions, key_positions: Positions, pairs: Array) -> Array:
    """Pairs of which query and key are of one document."""
    if query_positions.documents is None or key_positions.documents is None:
        return pairs
    return pairs & (query_positions.documents[..., :, None] == key_positions.documents[..., None, :])
