"""Attention with any encodings on JAX's own primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    Window,
    check_causal,
    check_fits,
    checked_hidden,
    checked_keys_rotated,
    checked_scale,
    checked_vectors,
    checked_window,
    documents_of_tokens,
    needed_order_guard,
    number_of_axes,
    token_positions,
)
from posenc.core.doors import AttentionBias, AttentionScore, Documents, Encoding
from posenc.core.rotation import Layout
from posenc.encodings.scores._gathers import needs_all_keys
from posenc.jax.attention_tiles import Picked, in_tiles, over_queries, queries_per_tile, visible_by_index
from posenc.jax.bound import DoorMethods
from posenc.jax.jax_arguments import JaxArguments, bound_encodings, check_arrays, checked_mask
from posenc.jax.rotated_keys import rotated_back, rotated_vectors

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
    encodings: Sequence[Encoding | DoorMethods] = (),
    causal: bool = False,
    window: Window | None = None,
    sliding_window: int | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    keys_rotated: bool = False,
    impl: JaxImpl = "auto",
) -> Any:
    """Attend with any encodings, through `jit`, `grad` and `vmap`.

    softmax(scale·rotation(q)·rotation(k)ᵀ + biases + scores)·v. `posenc.attention.attention` is the same, written to be
    read, and `posenc.torch.attention` takes the same arguments and `dropout`. Logits and what is added to them are
    float32 at least.

    Args:
        q: Queries (batch, heads, n, d) for layout "bhtd", (batch, n, heads, d) for "bthd".
        k: Keys (batch, key heads, m, d) for layout "bhtd"; key heads divide heads.
        v: Values (batch, key heads, m, width) for layout "bhtd".
        query_positions: Positions (n,) or (batch, n), with a last axis of coordinates for encodings that have several.
        key_positions: Positions (m,) or (batch, m), likewise.
        layout: Order of the axes of q, k, v and the output, "bhtd" or "bthd".
        encodings: Encodings of the doors that rotate, bias and score; those that learn as `bind` gives them, or as
            `posenc.jax.flax.Module` or `nnx.Param(bind(encoding))` in flax nnx.
        causal: Whether a query sees no key behind its own index, counted from the ends: the last query stands at the
            last key. Positions of one coordinate that contradict this, or a window, are an error unless a mask is
            given; where values cannot be read, the output is NaN.
        window: (keys before, keys after) its own index that a query sees, None for all. The query's own key does not
            count.
        sliding_window: In place of window beside `causal=True`: how many keys a query sees, its own among them, as
            `sliding_window` of Hugging Face's configs counts; 4096 is `window=(4095, 0)`. None for all.
        mask: True where a query may see a key, four axes that broadcast to (batch, heads, n, m). A query that sees
            nothing gives zeros.
        documents: Numbers of the documents of the queries and of the keys, in the shape of their positions, where a row
            holds several.
        hidden: Input of the layer, for encodings that read it.
        scale: Factor of the logits; None for 1/√d.
        keys_rotated: k and v come from `rotate_keys`, as a cache should hold them; queries alone are rotated here.
        impl: "dot_product" is `jax.nn.dot_product_attention` after rotation; "tiles" materialises logits. Both take a
            few queries at a time, in memory linear in n, and recompute for the gradient. "dense" is tiles with all
            queries at once. "auto" is dot_product where nothing adds to the logits, no query may be left without a key
            and vectors are neither float64, whose softmax it would round to float32, nor float16, which JAX compiles
            for it on a GPU alone; else tiles.

    Returns:
        Output of attention, in the dtype and the layout of q.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: Shapes, positions or masks do not fit each other or the encodings, or `impl` cannot take them.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, eq. 1.

    Example:
        >>> from posenc import ALiBi, RoPE
        >>> q, k = jnp.ones((1, 4, 3, 8)), jnp.ones((1, 2, 5, 8))
        >>> query, key = jnp.arange(2, 5), jnp.arange(5)  # the last three of five tokens
        >>> options = {"encodings": [RoPE(dim=8), ALiBi(heads=4)], "causal": True, "layout": "bhtd"}
        >>> attended = jax.jit(lambda q, k: attention(q, k, k, query_positions=query, key_positions=key, **options))
        >>> attended(q, k).shape
        (1, 4, 3, 8)
    """
    validation.choice("impl", impl, JAX_IMPLS)
    check_arrays(q=q, k=k, v=v)
    q, k, v = checked_vectors(q, k, v, layout)
    bound = bound_encodings(encodings)
    inside = [one.encoding for one in bound]
    axes = number_of_axes(inside)
    for encoding in inside:
        check_fits(encoding, q, v)
    queries = token_positions("query_positions", query_positions, q, axes)
    keys = token_positions("key_positions", key_positions, k, axes)
    causal = check_causal(causal, q.shape[2], k.shape[2])
    window = checked_window(window, sliding_window, causal=causal)
    packed = documents_of_tokens(documents, q, k)
    arguments = JaxArguments(
        q,
        k,
        v,
        queries.array,
        keys.array,
        bound,
        causal,
        window,
        checked_mask(mask, q, k),
        packed,
        checked_hidden(hidden, inside, q, k, jax.Array, "an array"),
        checked_scale(scale, q),
        checked_keys_rotated(keys_rotated, inside),
        needed_order_guard(
            queries, keys, axes, causal=causal, window=window, masked=mask is not None, documents=packed
        ),
    )
    output = _attended(arguments, impl)
    output = output if arguments.guard is None else output + arguments.guard.astype(output.dtype)
    return output if layout == "bhtd" else output.swapaxes(1, 2)


def _attended(arguments: JaxArguments, impl: JaxImpl) -> Array:
    """Attend by the path that is named, or by the first that fits."""
    queries, keys = arguments.q.shape[2], arguments.k.shape[2]
    if impl in ("auto", "dot_product"):
        reason = _dot_product_unsupported(arguments)
        if reason is None:
            return _dot_product(arguments)
        if impl == "dot_product":
            raise ValueError(
                f"impl must be a path that fits these arguments; got 'dot_product', but {reason}. Use 'auto'."
            )
    if not queries or not keys:
        return jnp.zeros((*arguments.q.shape[:3], arguments.v.shape[-1]), arguments.q.dtype)
    whole = needs_all_keys((bound.encoding for bound in arguments.of(AttentionScore)), queries)
    if whole and impl == "tiles":
        raise ValueError(f"impl must be a path that fits these arguments; got 'tiles', but {whole}. Use 'auto'.")
    return in_tiles(arguments, queries if whole or impl == "dense" else queries_per_tile(arguments))


def _dot_product_unsupported(arguments: JaxArguments) -> str | None:
    """Reason why `jax.nn.dot_product_attention` cannot take the arguments; None where it can."""
    for bound in arguments.encodings:
        if isinstance(bound.encoding, AttentionBias | AttentionScore):
            return f"{type(bound.encoding).__name__} adds to the logits"
    if arguments.mask is not None or arguments.documents is not None:
        return "a mask or documents may leave a query without a key"
    if arguments.q.dtype == jnp.float64:
        return "it rounds the softmax of float64 to float32"
    if arguments.q.dtype == jnp.float16 and jax.default_backend() != "gpu":
        return "JAX compiles its products of float16 on a GPU alone"
    if not arguments.q.shape[2] or not arguments.k.shape[2]:
        return "there are no pairs"
    return None if _at_most(arguments.q.shape[2], arguments.k.shape[2]) else "queries before the first key may see none"


def _at_most(queries: Any, keys: Any) -> bool:
    """Whether there are surely no more queries than keys; False where symbols of `jax.export` leave it open."""
    try:
        return bool(queries <= keys)
    except jax.core.InconclusiveDimensionOperation:
        return False


def _dot_product(arguments: JaxArguments) -> Array:
    """Attend by `jax.nn.dot_product_attention` after rotation, with a few queries at a time."""
    q, *keys_and_values = rotated_vectors(arguments, arguments.q, arguments.k, arguments.v)
    # It takes values as wide as queries alone; PoPE's rotated queries are twice as wide, values of MLA less wide.
    width = keys_and_values[1].shape[-1]
    most = max(q.shape[-1], width)
    k, v = (_padded(x, most).swapaxes(1, 2) for x in keys_and_values)
    q, hides = _padded(q, most), arguments.causal or arguments.window != (None, None)

    def attended(some: Picked) -> Array:
        index, rows = some(jnp.arange(q.shape[2]), 0), some(q, 2).swapaxes(1, 2)
        mask = visible_by_index(arguments, index)[None, None] if hides else None
        return jax.nn.dot_product_attention(rows, k, v, mask=mask, scale=arguments.scale)[..., :width].swapaxes(1, 2)

    output = over_queries(attended, q, queries_per_tile(arguments))
    return rotated_back(arguments, output, arguments.query_positions)


def _padded(x: Array, width: int) -> Array:
    """Vectors with zeros up to a width."""
    return x if x.shape[-1] == width else jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, width - x.shape[-1])))
