"""Two of the doors: biases, a number for each logit, and scores, a term of the logits that reads content."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_content import check_keys, content, of_documents, placed
from posenc.core.checked_positions import Positions, broadcast, check_broadcast, checked_pair
from posenc.core.declared_fields import Heads
from posenc.core.encoding import Encoding, Params, first_array


@dataclass(frozen=True)
class AttentionBias(Encoding):
    """Door at the logits: one number for one (head, query position, key position).

    Args:
        heads: Number of heads.

    Raises:
        ValueError: `heads` breaks its rule.
    """

    door: ClassVar[str] = "biases"
    heads: Heads

    @abc.abstractmethod
    def bias(
        self,
        head: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        dtype: Any = None,
    ) -> Array:
        """Compute the bias of heads and pairs of positions, which broadcast against each other.

        Where positions have several coordinates these are the last axis of `query_positions` and `key_positions`, and
        the axes before it broadcast.

        Args:
            head: Numbers of heads, from 0; where they cannot be read, one that does not exist gives NaN.
            query_positions: Positions of queries; integers, float32 or float64.
            key_positions: Positions of keys.
            params: Parameters by name, as `init` returns them; None where nothing is learned.
            dtype: Of the result; None is float64 in NumPy and float32 in PyTorch and JAX.

        Returns:
            Numbers to add to the scaled logits, of the broadcast shape.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: Heads or positions are out of range or do not broadcast, or parameters have other names or
                shapes.
        """

    @final
    def checked_call(
        self, head: Array, query_positions: Array, key_positions: Array, params: Params | None, dtype: Any
    ) -> tuple[Array, Positions, Positions, Params, Any]:
        """Check the arguments of `bias` once.

        Args:
            head: As `bias` takes it.
            query_positions: As `bias` takes them.
            key_positions: As `bias` takes them.
            params: As `bias` takes them.
            dtype: Of the result, or None.

        Returns:
            Heads, positions of queries and of keys, parameters of their library, and the dtype of the result.

        Raises:
            ValueError: Heads and positions do not broadcast against each other.
        """
        learned = self.checked(params)
        query_positions, key_positions = checked_pair(query_positions, key_positions, like=first_array(learned))
        head = self._head_index(head, query_positions.lib)
        last = -1 if self.axes > 1 else None  # coordinates do not broadcast
        queries, keys = query_positions.array.shape[:last], key_positions.array.shape[:last]
        if not (broadcast(head.shape, queries) and broadcast(head.shape, keys)):
            raise ValueError(
                "head must broadcast against query_positions and key_positions; got shapes "
                f"{tuple(head.shape)}, {tuple(queries)} and {tuple(keys)}. Give head[:, None, None] for every head."
            )
        check_broadcast(queries, keys)
        return head, query_positions, key_positions, learned, query_positions.lib.result_dtype(dtype)

    def _head_index(self, head: Array, lib: Library) -> Array:
        """Numbers of heads as an array of the library; a negative one would count from the end, so it is refused."""
        head = arrays.as_array("head", head, like=lib)
        if arrays.kind(head) != "integer":
            raise TypeError(f"head must hold whole numbers; got {arrays.dtype_name(head.dtype)}. Count heads from 0.")
        ends = lib.extremes(head)
        if ends is not None and not (ends[0] >= 0 and ends[1] < self.heads):
            raise ValueError(
                f"head must be from 0 to {self.heads - 1}; got values from {ends[0]} to {ends[1]}. Count heads from 0."
            )
        return head

    @final
    def matrix(
        self, query_positions: Array, key_positions: Array, params: Params | None = None, *, dtype: Any = None
    ) -> Array:
        """Compute the dense bias of all heads, queries and keys.

        Args:
            query_positions: (*batch, n), with a last axis of coordinates where `axes` is above 1.
            key_positions: (*batch, m), likewise.
            params: As for `bias`.
            dtype: As for `bias`.

        Returns:
            Bias of the scaled logits, (*batch, heads, n, m).

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: Positions have no axis, rows that do not go together or are out of range, or the result would
                not fit into memory.
        """
        query, key = checked_pair(query_positions, key_positions, like=first_array(params))
        lib, last, shapes = query.lib, -1 if self.axes == 1 else -2, (query.array.shape, key.array.shape)
        if min(map(len, shapes)) < -last:
            raise ValueError(
                "query_positions and key_positions must have an axis of positions, (*batch, "
                f"n{'' if self.axes == 1 else f', {self.axes}'}); got shapes {tuple(shapes[0])} and "
                f"{tuple(shapes[1])}. Put a single position into a list."
            )
        if not broadcast(*(shape[:last] for shape in shapes)):
            raise ValueError(
                "query_positions and key_positions must have axes of batches that broadcast; got shapes "
                f"{tuple(shapes[0])} and {tuple(shapes[1])}. Give each row of queries its keys."
            )
        # While tracing, a bound on a length would become part of the program.
        if query.readable and key.readable:
            several = max(map(len, shapes)) > -last
            batch = np.broadcast_shapes(*(tuple(shape[:last]) for shape in shapes)) if several else ()
            count = self.heads * math.prod((*batch, *(shape[last] for shape in shapes)))
            if count > validation.LARGEST_BYTES // 8:
                lib.check_size(
                    "query_positions and key_positions", count, lib.result_dtype(dtype), query.array, key.array
                )
        head = lib.arange(self.heads)[:, None, None]
        rest = (slice(None),) * (self.axes > 1)
        queries = query.part((..., None, slice(None), None, *rest))
        return self._at_checked(head, queries, key.part((..., None, None, slice(None), *rest)), params, dtype)

    def _at_checked(self, head: Array, query: Positions, key: Positions, params: Params | None, dtype: Any) -> Array:
        """`bias` of heads and positions that are checked already."""
        return self.bias(head, query.array, key.array, params, dtype=dtype)


@dataclass(frozen=True)
class AttentionScore(Encoding):
    """Door between content and position: a term of the logits that reads queries, keys or both.

    Attributes:
        reads: Places at which `hidden`, the input of the layer, is read; "both" is those of the queries and, behind
            them, those of the keys. None where it is not read.
        gathers: Whether a score reads the keys between two places, so that all keys must be given together. Such a
            score takes `documents`: the document of each query and of each key, where several are packed into a row.
    """

    door: ClassVar[str] = "scores"
    #: At whose places `hidden`, the input of the layer, is read: (*batch, places, model_dim); None where it is not
    #: read. "both" is those of the queries and, behind them, those of the keys.
    reads: ClassVar[Literal["query", "key", "both"] | None] = None
    #: Whether a score reads the keys between two places, so that all keys must be given together. Such a score takes
    #: `documents`: the document of each query and of each key, where several are packed into a row.
    gathers: ClassVar[bool] = False

    @abc.abstractmethod
    def score(
        self,
        q: Array,
        k: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
    ) -> Array:
        """Compute the term of the scaled logits.

        Args:
            q: Queries, (*batch, heads, n, d).
            k: Keys, (*batch, heads, m, d).
            query_positions: (*batch, n), with a last axis of coordinates where `axes` is above 1.
            key_positions: (*batch, m), likewise.
            params: Parameters by name, as `init` returns them; None where nothing is learned.
            hidden: Input of the layer at the places of `reads`, (*batch, places, model_dim); None where it is not read.

        Returns:
            Numbers to add to the scaled logits, (*batch, heads, n, m).

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: Shapes do not belong together, positions are out of range, or `hidden` is missing or not read.
        """

    @final
    def checked_call(
        self,
        q: Array,
        k: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None,
        documents: Any = None,
        *,
        hidden: Array | None = None,
    ) -> tuple[Array, Array, Positions, Positions, Params]:
        """Check the arguments of `score` once.

        Channels must be the `dim` of the encoding and heads its `heads`, where it states them; parameters of an
        encoding within it, whose names have a dot, stay as they are.

        Args:
            q: As `score` takes it.
            k: As `score` takes it.
            query_positions: As `score` takes them.
            key_positions: As `score` takes them.
            params: As `score` takes them.
            documents: Document of each query and of each key, or None.
            hidden: Inputs of the layer, or None.

        Returns:
            Queries, keys, positions of both, and parameters as wide as queries.

        Raises:
            ValueError: An argument breaks its rule; the message names it.
        """
        learned = self.checked(params)
        if hidden is not None and self.reads is None:
            raise ValueError(
                f"hidden must be left out for {type(self).__name__}, which reads only q and k; got "
                f"{validation.shown(hidden)}. Leave it out."
            )
        lib = arrays.library(arrays.floats("q", q), arrays.floats("k", k), *learned.values())
        dim, heads = getattr(self, "dim", None), getattr(self, "heads", None)
        q = content("q", q, dim, heads, lib)
        k = content("k", k, dim, heads if dim else None, lib)  # an encoding that states no width scores any keys alike
        # A score that states no heads and gathers nothing reads queries alone, so that keys may have fewer heads.
        check_keys(q, k, same_heads=bool(dim) and self.gathers)
        query_positions, key_positions = (
            placed("query_positions", query_positions, q, -2, self.axes),
            placed("key_positions", key_positions, k, -2, self.axes),
        )
        if query_positions.readable and key_positions.readable:
            lib.check_size("q and k", math.prod(q.shape[:-1]) * k.shape[-2], q.dtype, q, k)
        query_positions, key_positions = of_documents(documents, query_positions, key_positions)
        cast_params = {name: value if "." in name else lib.astype(value, q.dtype) for name, value in learned.items()}
        return q, k, query_positions, key_positions, cast_params

    @final
    def hidden_length(self, queries: int, keys: int) -> int:
        """Number of places of `hidden` for so many queries and keys.

        Args:
            queries: Number of queries.
            keys: Number of keys.

        Returns:
            Number of places.
        """
        return {"query": queries, "key": keys, "both": queries + keys, None: 0}[self.reads]

    def values(
        self, weights: Array, query_positions: Array, key_positions: Array, params: Params | None = None
    ) -> Array | None:
        """Compute the term of the attention output.

        Args:
            weights: Attention weights, (*batch, heads, n, m).
            query_positions: As for `score`.
            key_positions: As for `score`.
            params: As for `score`.

        Returns:
            Vectors to add to the output, (*batch, heads, n, d); None where nothing is added.
        """
        return None
