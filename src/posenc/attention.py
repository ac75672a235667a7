"""Readable reference attention, with every door open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_attention import (
    check_causal,
    check_head_count,
    check_hidden_is_read,
    check_inside,
    check_list,
    checked_scale,
    checked_vectors,
    documents_of_tokens,
    needed_order_guard,
    number_of_axes,
    repeated,
    token_positions,
)
from posenc.core.checked_positions import checked
from posenc.core.doors import AttentionBias, AttentionScore, Documents, Encoding, Params, RotaryEncoding
from posenc.core.rotation import LAYOUTS, Layout

#: What acts inside attention, each with its parameters.
Inside: TypeAlias = list[tuple[Encoding, Params | None]]


@dataclass(frozen=True, eq=False)
class Attended:
    """Result of attention.

    Attributes:
        output: Vectors in the layout of q.
        weights: Attention weights, (batch, heads, n, m).
        logits: Logits, (batch, heads, n, m).
    """

    output: Array
    weights: Array
    logits: Array


@dataclass(frozen=True, eq=False)
class Cache:
    """Keys and values of earlier steps with their positions, in one layout.

    Keys are kept as they are before any rotation.

    Args:
        k: Keys, (batch, key heads, m, d) or (batch, m, key heads, d).
        v: Values, likewise.
        key_positions: Positions of the keys, (m,) or (batch, m).
        layout: "bhtd" or "bthd".

    Raises:
        ValueError: `layout` is neither.
    """

    k: Array
    v: Array
    key_positions: Array
    layout: Layout

    def __post_init__(self) -> None:
        validation.choice("layout", self.layout, LAYOUTS)

    def extended(self, k: Array, v: Array, key_positions: Array) -> Cache:
        """Append the keys, values and positions of new tokens.

        Args:
            k: Keys of the new tokens.
            v: Values of the new tokens.
            key_positions: Positions of the new tokens.

        Returns:
            Cache of all tokens.

        Raises:
            TypeError: Positions are no numbers; or floats where those in the cache are integers, or the other way
                round, without 64-bit numbers.
            ValueError: Positions are out of range, or not of the sequences of those in the cache.
        """
        lib = arrays.library(self.k, k)
        xp, kept = lib.xp, checked(self.key_positions, "key_positions", like=self.k)
        new = checked(key_positions, "key_positions", like=self.k)
        if kept.integers != new.integers and not lib.float64:  # float64 holds every position
            raise TypeError(
                f"key_positions must be {'integers' if kept.integers else 'floats'}, as those in the cache are, where "
                f"there are no 64-bit numbers; got {arrays.dtype_name(new.array.dtype)}. Convert them."
            )
        if kept.array.shape[:-1] != new.array.shape[:-1]:
            raise ValueError(
                "key_positions must have the sequences of those in the cache, of shape "
                f"{tuple(kept.array.shape)}; got {tuple(new.array.shape)}. Give both as (m,), or both as (batch, m)."
            )
        axis = 2 if self.layout == "bhtd" else 1
        return Cache(
            xp.concatenate([self.k, k], axis),
            xp.concatenate([self.v, v], axis),
            xp.concatenate([lib.signed(kept.array), lib.signed(new.array)], -1),
            self.layout,
        )


@arrays.broadcasting
def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding] = (),
    params: Sequence[Params | None] = (),
    causal: bool = False,
    mask: Array | None = None,
    scale: float | None = None,
    hidden: Array | None = None,
    documents: Documents = None,
) -> Attended:
    """softmax(scale·rotation(q)·rotation(k)ᵀ + biases + scores)·v, with every positional encoding written out.

    Logits are formed in float32 at least.

    Args:
        q: Queries, (batch, heads, n, d) for `layout="bhtd"`, with time before heads for "bthd".
        k: Keys, (batch, key heads, m, d); heads must be a multiple of key heads (grouped heads).
        v: Values, (batch, key heads, m, width).
        query_positions: (n,) or (batch, n), with a last axis of coordinates for encodings with several axes, all of
            them as many.
        key_positions: (m,) or (batch, m), likewise: always given separately.
        layout: Order of the axes of q, k, v and the output.
        encodings: Encodings that act inside attention. An additive one belongs before attention:
            `encoding.attach(x, positions, params)`.
        params: Parameters of each encoding, None where nothing is learned; empty if none learns anything.
        causal: Whether a query sees no key behind its own place, counted from the ends (the last query sees all keys).
            Positions of one coordinate that contradict this are an error unless a mask is given; NaN if traced.
        mask: True where a query may see a key; broadcasts to (batch, heads, n, m). A query that sees nothing gives
            zeros.
        scale: Factor of the products of queries and keys; None is 1/√d.
        hidden: Inputs of the layer, for encodings that read content.
        documents: Documents of the queries and of the keys, numbers in the shape of their positions, where a row holds
            several: a query sees the keys of its own, and scores that read the keys in between leave the others out.

    Returns:
        Output in the dtype and layout of q, weights and logits.

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: Shapes do not belong together, positions contradict the mask, or a value breaks its rule.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, eq. 1.

    Example:
        >>> import numpy as np
        >>> x = np.eye(4)[None, None]
        >>> attended = attention(x, x, x, query_positions=range(4), key_positions=range(4), layout="bhtd", causal=True)
        >>> attended.weights[0, 0].round(2)[1]
        array([0.38, 0.62, 0.  , 0.  ])
    """
    inside = _paired(encodings, params)
    check_hidden_is_read(hidden, encodings)
    q, k, v = checked_vectors(q, k, v, layout)
    k, v = repeated(k, q.shape[1]), repeated(v, q.shape[1])
    documents, axes = documents_of_tokens(documents, q, k), number_of_axes(encodings)
    placed = (
        token_positions("query_positions", query_positions, q, axes),
        token_positions("key_positions", key_positions, k, axes),
    )
    query_positions, key_positions = (each.array for each in placed)
    lib = arrays.library(q)
    logits = _logits(q, k, query_positions, key_positions, inside, checked_scale(scale, q), hidden, documents, lib)
    visible = _visible(logits, causal, mask, documents, lib)
    guard = needed_order_guard(
        *placed, axes, causal=causal, window=(None, None), masked=mask is not None, documents=documents
    )
    logits = logits if guard is None else logits + lib.astype(guard, logits.dtype)
    weights = softmax(logits, visible, lib)
    output = _output(weights, v, query_positions, key_positions, inside, lib)
    for encoding, values in inside:
        if isinstance(encoding, AttentionScore):
            extra = encoding.values(weights, query_positions, key_positions, values)
            output = output if extra is None else output + extra
    output = lib.astype(output, q.dtype)
    return Attended(output if layout == "bhtd" else output.swapaxes(1, 2), weights, logits)


def _paired(encodings: Sequence[Encoding], params: Sequence[Params | None]) -> Inside:
    """Encodings with their parameters, checked."""
    check_list(encodings, "encodings")
    for encoding in encodings:
        check_inside(encoding, "its attach(x, positions, params)")
    if not isinstance(params, tuple | list) or (params and len(params) != len(encodings)):
        raise ValueError(
            f"params must be a list with one entry for each of {len(encodings)} encodings; got "
            f"{validation.shown(params)}. Give None where nothing is learned."
        )
    return list(zip(encodings, params or [None] * len(encodings), strict=True))


def _logits(
    q: Array,
    k: Array,
    query_positions: Array,
    key_positions: Array,
    inside: Inside,
    scale: float,
    hidden: Array | None,
    documents: Documents,
    lib: Library,
) -> Array:
    """Scaled logits with every rotation, bias and score."""
    dtype = lib.wide_dtype(q.dtype)
    rotated_q, rotated_k = lib.astype(q, dtype), lib.astype(k, dtype)
    for encoding, values in inside:
        if isinstance(encoding, RotaryEncoding) and "query" in encoding.roles:
            rotated_q = encoding.rotation(query_positions, values, role="query", dtype=dtype)(rotated_q, layout="bhtd")
            rotated_k = encoding.rotation(key_positions, values, role="key", dtype=dtype)(rotated_k, layout="bhtd")
    if lib.concrete(q):
        lib.check_size("q and k", math.prod(q.shape[:-1]) * k.shape[-2], dtype, k)
    logits = (rotated_q @ rotated_k.swapaxes(-1, -2)) * scale
    for encoding, values in inside:
        if isinstance(encoding, AttentionBias):
            check_head_count(encoding, q)
            logits = logits + lib.astype(encoding.matrix(query_positions, key_positions, values, dtype=dtype), dtype)
        elif isinstance(encoding, AttentionScore):
            packed = {"documents": documents} if encoding.gathers else {}
            read = hidden if encoding.reads else None
            logits = logits + encoding.score(q, k, query_positions, key_positions, values, hidden=read, **packed)
    return logits


def _output(
    weights: Array, v: Array, query_positions: Array, key_positions: Array, inside: Inside, lib: Library
) -> Array:
    """Mix the values, after the rotations that act on values, and rotate back where the query stands."""
    dtype = weights.dtype
    rotating = [(each, values) for each, values in inside if isinstance(each, RotaryEncoding) and "value" in each.roles]
    mixed = lib.astype(v, dtype)
    for encoding, values in rotating:
        mixed = encoding.rotation(key_positions, values, role="value", dtype=dtype)(mixed, layout="bhtd")
    mixed = weights @ mixed
    for encoding, values in rotating[::-1]:
        mixed = encoding.rotation(query_positions, values, role="output", dtype=dtype)(mixed, layout="bhtd")
    return mixed


def _visible(logits: Array, causal: bool, mask: Array | None, documents: Documents, lib: Library) -> Array | None:
    """Mask, True where a query may see a key; None when all may be seen."""
    queries, keys = logits.shape[-2:]
    visible = None
    if check_causal(causal, queries, keys):
        visible = lib.arange(keys)[None, :] <= lib.arange(queries)[:, None] + (keys - queries)
    if documents is not None:
        of_query, of_key = documents
        same = of_query[:, None, :, None] == of_key[:, None, None, :]
        visible = same if visible is None else same & visible
    if mask is None:
        return visible
    mask = arrays.as_mask("mask", mask, like=logits)
    shape, whole = tuple(mask.shape), tuple(logits.shape)
    if len(shape) > 4 or any(length not in (1, size) for length, size in zip(shape[::-1], whole[::-1], strict=False)):
        raise ValueError(
            f"mask must broadcast to (batch, heads, queries, keys), {whole}; got shape {shape}. Use size 1 on axes "
            "where it is the same: mask[:, None, None, :] for a mask of keys."
        )
    return mask if visible is None else mask & visible


def softmax(logits: Array, visible: Array | None, lib: Library) -> Array:
    """Softmax of the visible logits over the last axis; zeros where nothing is visible.

    Example:
        >>> import numpy as np
        >>> softmax(np.zeros((2, 2)), np.array([[True, False], [False, False]]), arrays.library(np.zeros(1))).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    xp = lib.xp
    if logits.shape[-1] == 0:
        return logits
    if visible is not None:
        logits = xp.where(visible, logits, float("-inf"))
    top = lib.detach(xp.amax(logits, -1)[..., None])
    powers = xp.exp(logits - xp.where(top == float("-inf"), 0.0, top))
    total = powers.sum(-1)[..., None]
    return powers / xp.where(total > 0, total, 1.0)
