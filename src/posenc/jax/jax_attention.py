"""Attention with any encodings on JAX's own primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import Window
from posenc.core.doors import AttentionBias, AttentionScore, Documents, Encoding
from posenc.core.rotation import Layout
from posenc.encodings.scores._gathers import needs_all_keys
from posenc.jax.attention_arguments import JaxArguments, collected
from posenc.jax.attention_tiles import in_tiles, queries_per_tile, rotated_back, rotated_vectors, visible_by_index
from posenc.jax.bound import Bound

JaxImpl = Literal["auto", "dot_product", "tiles", "dense"]
JAX_IMPLS = ("auto", "dot_product", "tiles", "dense")


@arrays.broadcasting
def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding | Bound] = (),
    causal: bool = False,
    window: Window | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    impl: JaxImpl = "auto",
) -> Any:
    """softmax(scale·rotation(q)·rotation(k)ᵀ + biases + scores)·v with any encodings, through `jit`, `grad` and `vmap`.

    Vaswani et al. 2017, arXiv:1706.03762, eq. 1; `posenc.attention.attention` is the same, written to be read, and
    `posenc.torch.attention` takes the same arguments. Logits and what is added to them are float32 at least; the output
    has the dtype and the layout of q.

    Args:
        q: (batch, heads, n, d), (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens
            before heads for "bthd"; key heads divide heads.
        k: (batch, heads, n, d), (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens
            before heads for "bthd"; key heads divide heads.
        v: (batch, heads, n, d), (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens
            before heads for "bthd"; key heads divide heads.
        query_positions: Positions (n,) or (batch, n), and (m,) or (batch, m), with a last axis of coordinates for
            encodings that have several.
        key_positions: Positions (n,) or (batch, n), and (m,) or (batch, m), with a last axis of coordinates for
            encodings that have several.
        encodings: Encodings, and what `bind` gives for those that learn, of the doors that rotate, bias and score.
        causal: A query sees no key behind its own index, counted from the ends: the last query stands at the last key.
            Positions of one coordinate that contradict this, or a window, are an error unless a mask or documents are
            given; where values cannot be read, the output is NaN.
        window: (keys before, keys after) its own index that a query sees, None for all.
        mask: True where a query may see a key, four axes that broadcast to (batch, heads, n, m). A query that sees
            nothing gives zeros.
        documents: Of the queries and of the keys, numbers in the shape of their positions, where a row holds several.
        hidden: Inputs of the layer, for encodings that read them.
        scale: 1/√d unless given.
        impl: "dot_product" is `jax.nn.dot_product_attention` after rotation; "tiles" a few queries at a time, in memory
            linear in n and computed again for a gradient; "dense" all queries at once. ValueError where the one that is
            named cannot. "auto" is dot_product where nothing adds to the logits and no query may be left without a key,
            then dense for few pairs, and tiles.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> from posenc import ALiBi, RoPE
        >>> q, k = jnp.ones((1, 4, 3, 8)), jnp.ones((1, 2, 5, 8))
        >>> query, key = jnp.arange(2, 5), jnp.arange(5)  # the last three of five tokens
        >>> attended = jax.jit(lambda q, k: attention(
        ...     q, k, k, query_positions=query, key_positions=key, encodings=[RoPE(dim=8), ALiBi(heads=4)], causal=True, layout="bhtd"))
        >>> attended(q, k).shape
        (1, 4, 3, 8)
    """
    validation.choice("impl", impl, JAX_IMPLS)
    asked = collected(
        q,
        k,
        v,
        query_positions=query_positions,
        key_positions=key_positions,
        layout=layout,
        encodings=encodings,
        causal=causal,
        window=window,
        mask=mask,
        documents=documents,
        hidden=hidden,
        scale=scale,
    )
    output = _attended(asked, impl)
    output = output if asked.guard is None else output + asked.guard.astype(output.dtype)
    return output if layout == "bhtd" else output.swapaxes(1, 2)


def _attended(asked: JaxArguments, impl: JaxImpl) -> Array:
    queries, keys = asked.q.shape[2], asked.k.shape[2]
    if impl in ("auto", "dot_product"):
        reason = _dot_product_unsupported(asked)
        if reason is None:
            return _dot_product(asked)
        if impl == "dot_product":
            raise ValueError(
                f"impl must be a path that fits these arguments; got 'dot_product', but {reason}. Use 'auto'."
            )
    if not queries or not keys:
        return jnp.zeros((*asked.q.shape[:3], asked.v.shape[-1]), asked.q.dtype)
    whole = needs_all_keys((each.encoding for each in asked.of(AttentionScore)), queries)
    if whole and impl == "tiles":
        raise ValueError(f"impl must be a path that fits these arguments; got 'tiles', but {whole}. Use 'auto'.")
    return in_tiles(asked, queries if whole or impl == "dense" else queries_per_tile(asked))


def _dot_product_unsupported(asked: JaxArguments) -> str | None:
    for each in asked.encodings:
        if isinstance(each.encoding, AttentionBias | AttentionScore):
            return f"{type(each.encoding).__name__} adds to the logits"
    if asked.mask is not None or asked.documents is not None:
        return "a mask or documents may leave a query without a key"
    if not asked.q.shape[2] or not asked.k.shape[2]:
        return "there are no pairs"
    return None if asked.q.shape[2] <= asked.k.shape[2] else "queries before the first key see none"


def _dot_product(asked: JaxArguments) -> Array:
    q, k, v = (x.swapaxes(1, 2) for x in rotated_vectors(asked, asked.q, asked.k, asked.v))
    index = jnp.arange(asked.q.shape[2])
    hides = asked.causal or asked.window != (None, None)
    mask = visible_by_index(asked, index)[None, None] if hides else None
    # It takes values as wide as queries alone; PoPE's rotated queries are twice as wide, values of MLA less wide.
    most = max(q.shape[-1], v.shape[-1])
    q, k, wide = (jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, most - x.shape[-1]))) for x in (q, k, v))
    output = jax.nn.dot_product_attention(q, k, wide, mask=mask, scale=asked.scale)[..., : v.shape[-1]]
    return rotated_back(asked, output.swapaxes(1, 2), asked.query_positions)
