"""Scores that read the keys between a query and a key, with all work on keys alone done once for every query."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.checked_content import content, inputs, inputs_of_both, of_documents, placed
from posenc.core.checked_positions import Positions
from posenc.core.doors import AttentionScore, Documents, Params
from posenc.positions.ordered_keys import OrderedKeys, ordered


class PreparedKeys(NamedTuple):
    """Keys in order of position, with the arrays that a score computes from keys alone.

    Attributes:
        keys: The keys, ordered by position.
        arrays: Arrays that have the keys on their last axis but one.
    """

    keys: OrderedKeys
    arrays: tuple[Array, ...]

    def part(self, some: slice) -> PreparedKeys:
        """Slice consecutive keys that were given in order, for queries that reach no key after the slice."""
        return PreparedKeys(self.keys.part(some), tuple(array[..., some, :] for array in self.arrays))


def needs_all_keys(encodings: Iterable[AttentionScore], queries: int) -> str | None:
    """Reason why a few queries at a time would compute the same again; None where they do not."""
    for encoding in encodings:
        if encoding.gathers and not isinstance(encoding, Gathers) and queries > 1:
            return f"{type(encoding).__name__} reads all keys between a query and a key, and prepares nothing"
    return None


@dataclass(frozen=True)
class Gathers(AttentionScore):
    """A score that reads the keys between a query and a key.

    Keys are put in the order of their positions first, so that sums over what lies between are cumulative sums. `score`
    is `prepare` for the keys and then `score_prepared` for the queries, all of them or a tile at a time.
    """

    gathers: ClassVar[bool] = True

    @abc.abstractmethod
    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        """Compute the arrays that the score needs from ordered keys alone, keys on the last axis but one.

        k is (*batch, h, m, d), and x the layer's input there, (*batch, m, model_dim), or None where `reads` leaves it
        out.
        """

    @abc.abstractmethod
    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        """The score of queries against keys in order; (*batch, h, n, m)."""

    def faded(self, query: Positions, prepared: PreparedKeys, below: float) -> int:
        """Number of first keys that score at least `below` less than each query's own key.

        Scores of the other keys can be computed without them. It is 0 where an encoding does not know.
        """
        return 0

    @final
    def prepare(
        self,
        k: Array,
        key: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
        documents: Array | None = None,
    ) -> PreparedKeys:
        """Prepare the keys for `score_prepared`; hidden and documents are those of the keys alone."""
        learned, dim = self.checked(params), getattr(self, "dim", None)
        lib = arrays.library(arrays.floats("k", k), *learned.values())
        k = content("k", k, dim, getattr(self, "heads", None) if dim else None, lib)
        key = placed("key_positions", key, k, -2)
        _, key = of_documents(None if documents is None else (documents, documents), key, key)
        keys = ordered(key)
        x = keys.of(inputs(hidden, k, _model_dim(self))) if self.reads in ("key", "both") else None
        return PreparedKeys(keys, self.of_keys(keys.of(k), x, keys, as_wide(learned, k)))

    @final
    def score_prepared(
        self,
        prepared: PreparedKeys,
        q: Array,
        query: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
        documents: Array | None = None,
    ) -> Array:
        """Score some queries, (*batch, h, n, m); hidden and documents are those of the queries alone."""
        learned = self.checked(params)
        lib = arrays.library(arrays.floats("q", q), *learned.values())
        q = content("q", q, getattr(self, "dim", None), getattr(self, "heads", None), lib)
        query = placed("query_positions", query, q, -2)
        query, _ = of_documents(None if documents is None else (documents, documents), query, query)
        x = inputs(hidden, q, _model_dim(self)) if self.reads in ("query", "both") else None
        keys = prepared.keys
        score = keys.back(self.of_queries(q, x, query, prepared, as_wide(learned, q)))
        guard = keys.guard
        if not query.readable:
            guard = query.guard() if guard is None else query.guard() + guard
        return score if guard is None else score + lib.astype(guard, score.dtype)[..., None, :, None]

    @final
    def score(
        self,
        q: Array,
        k: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
        documents: Documents = None,
    ) -> Array:
        read = {} if self.reads else {"hidden": hidden}
        q, k, query_positions, key_positions, _ = self.checked_call(
            q, k, query_positions, key_positions, params, documents, **read
        )
        at_queries = at_keys = hidden
        if self.reads == "both":
            at_queries, at_keys = inputs_of_both(hidden, q, k, _model_dim(self))
        prepared = self.prepare(k, key_positions, params, hidden=at_keys)
        return self.score_prepared(prepared, q, query_positions, params, hidden=at_queries)


def _model_dim(encoding: Any) -> int:
    """Channels of the layer's input, a field of every encoding that reads it."""
    return int(encoding.model_dim)


def as_wide(learned: Params, x: Array) -> Params:
    """Cast parameters to the dtype of x, except those of a wrapped encoding, named "inner.name"."""
    lib = arrays.library(x)
    return {name: value if "." in name else lib.astype(value, x.dtype) for name, value in learned.items()}


def score_of_rotation(q: Array, k: Array, rotated_q: Array, rotated_k: Array) -> Array:
    """Compute (rotated q · rotated k - q·k) / √dim, which turns the q·k that attention adds into the rotated product.

    Args:
        q: Queries, (*batch, heads, n, dim).
        k: Keys, (*batch, heads, m, dim).
        rotated_q: The rotated queries.
        rotated_k: The rotated keys.

    Returns:
        The score, (*batch, heads, n, m).
    """
    return (rotated_q @ rotated_k.swapaxes(-1, -2) - q @ k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])


def rotated_by_angles(x: Array, angle: Array, lib: Library) -> Array:
    """Pairs (i, i + dim/2) of x, (*batch, heads, places, dim), rotated by their angles."""
    cos, sin = (lib.astype(part, x.dtype) for part in (lib.xp.cos(angle), lib.xp.sin(angle)))
    return rotated_halves(x, cos, sin, lib)


def rotated_halves(x: Array, cos: Array, sin: Array, lib: Library) -> Array:
    """Pairs (i, i + dim/2) of x rotated by angles with these cosines and sines."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return lib.xp.concatenate([first * cos - second * sin, first * sin + second * cos], -1)
