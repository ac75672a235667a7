"""What attention in JAX is asked for, checked before any path is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    Window,
    check_causal,
    check_fits,
    check_inside,
    check_learns_nothing,
    check_list,
    check_mask_axes,
    checked_hidden,
    checked_scale,
    checked_vectors,
    checked_window,
    documents_of_tokens,
    guard_of_order,
    number_of_axes,
    repeated,
    token_positions,
)
from posenc.core.doors import Documents, Encoding
from posenc.core.rotation import Layout
from posenc.jax.bound import Bound


@dataclass(frozen=True, eq=False)
class JaxArguments:
    """Attention as it is asked for: q, k and v as (batch, heads, tokens, width), k and v repeated for each head.

    Args:
        guard: What is added to the output, NaN where positions contradict a mask by index; None where they agree.
    """

    q: Array
    k: Array
    v: Array
    query_positions: Array
    key_positions: Array
    encodings: tuple[Bound, ...]
    causal: bool
    window: Window
    mask: Array | None
    documents: tuple[Array, Array] | None
    hidden: Array | None
    scale: float
    guard: Array | None

    def of(self, door: type[Encoding]) -> list[Any]:
        return [each for each in self.encodings if isinstance(each.encoding, door)]


def collected(
    q: Array,
    k: Array,
    v: Array,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding | Bound],
    causal: bool,
    window: Window | None,
    mask: Array | None,
    documents: Documents,
    hidden: Array | None,
    scale: float | None,
) -> JaxArguments:
    """The arguments of `attention`, checked, or the TypeError or ValueError that names one of them."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        validation.instance(name, x, jax.Array, "a JAX array")
        if x.dtype != q.dtype:
            raise ValueError(f"{name} must have the dtype of q, {q.dtype}; got {x.dtype}. Convert it.")
    q, k, v = checked_vectors(q, k, v, layout)
    bound = _bound(encodings)
    records = [each.encoding for each in bound]
    axes = number_of_axes(records)
    for encoding in records:
        check_fits(encoding, q, v)
    query_positions, key_positions = (
        token_positions("query_positions", query_positions, q, axes),
        token_positions("key_positions", key_positions, k, axes),
    )
    causal, window = check_causal(causal, q.shape[2], k.shape[2]), checked_window(window)
    stated = mask is not None or documents is not None
    return JaxArguments(
        q,
        repeated(k, q.shape[1]),
        repeated(v, q.shape[1]),
        query_positions.array,
        key_positions.array,
        bound,
        causal,
        window,
        _mask(mask, q, k),
        documents_of_tokens(documents, q, k),
        checked_hidden(hidden, records, q, k, jax.Array, "an array"),
        checked_scale(scale, q),
        guard_of_order(query_positions, key_positions, axes, causal=causal, window=window, stated=stated),
    )


def _bound(encodings: Any) -> tuple[Bound, ...]:
    check_list(encodings, "encodings and of what bind gives")
    found = []
    for each in encodings:
        encoding = each.encoding if isinstance(each, Bound) else each
        check_inside(encoding, "posenc.jax.bind(encoding).add(x, positions)")
        if encoding is each:
            check_learns_nothing(encoding, "posenc.jax.bind(encoding)")
        found.append(each if isinstance(each, Bound) else Bound(each, {}))
    return tuple(found)


def _mask(mask: Any, q: Array, k: Array) -> Array | None:
    if mask is None:
        return None
    mask = arrays.as_mask("mask", mask, like=q)
    check_mask_axes(mask, q, k)
    return mask
