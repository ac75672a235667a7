"""One entry point to attention with any encodings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.nn.functional import scaled_dot_product_attention

from posenc import attention as reference
from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import Window
from posenc.core.doors import Documents, Encoding
from posenc.core.rotation import Layout
from posenc.torch.attention_paths import skewed_path, strided_path, tiles
from posenc.torch.attention_paths.arguments import Arguments, collected
from posenc.torch.attention_paths.choose import AttentionChoice, Impl, choose
from posenc.torch.attention_paths.shared_bias import SharedBias
from posenc.torch.attention_paths.visible import visible
from posenc.torch.modules.encoding_module import EncodingModule


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding | EncodingModule | SharedBias] = (),
    causal: bool = False,
    window: Window | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    keys_rotated: bool = False,
    impl: Impl = "auto",
) -> Any:
    """softmax(scale·rotation(q)·rotation(k)ᵀ + biases + scores)·v with any encodings, by the fastest path that fits.

    Vaswani et al. 2017, arXiv:1706.03762, eq. 1; `posenc.attention.attention` is the same, written to be read. Logits
    and what is added to them are float32 at least; the output has the dtype and the layout of q.

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
        encodings: Encodings, and modules of `posenc.torch.module` for what learns, of the doors that rotate, bias and
            score, any number; and what `shared_bias` makes once a step for all layers.
        causal: A query sees no key behind its own index, counted from the ends: the last query stands at the last key.
            Positions of one coordinate that contradict this, or a window, are an error unless a mask or documents are
            given; where values cannot be read, the output is NaN.
        window: (keys before, keys after) its own index that a query sees, None for all; a sliding window of w keys is
            (w - 1, 0).
        mask: True where a query may see a key, four axes that broadcast to (batch, heads, n, m): padding. A query that
            sees nothing gives zeros.
        documents: Of the queries and of the keys, numbers in the shape of their positions, where a row holds several: a
            query sees the keys of its own.
        hidden: Inputs of the layer, for encodings that read them.
        scale: 1/√d unless given.
        dropout: The share of weights that is dropped; 0.0 in evaluation.
        keys_rotated: K and v come from `rotate_keys`, as a cache should hold them; queries alone are rotated here.
        impl: "sdpa" is PyTorch's own attention after rotation; "strided" one number a distance for relative biases at
            positions that rise by one; "skewed" one product a distance for scores that have a vector for each (Shaw,
            DeBERTa); "tiles" a few queries at a time, in memory linear in n and computed again for a gradient; "dense"
            all queries at once; "flex" PyTorch's flex_attention, compiled at its first call (which takes up to a
            minute); "reference" the readable one. ValueError where the one that is named cannot. "auto" is the first of
            sdpa, strided, skewed and tiles that fits, and dense where a score of your own reads all keys between:
            `chosen_attention` says which and why.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch
        >>> from posenc import ALiBi, RoPE
        >>> q, k, v = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
        >>> query, key = torch.arange(2, 5), torch.arange(5)  # the last three of five tokens
        >>> encodings = [RoPE(dim=8), ALiBi(heads=4)]
        >>> attention(q, k, v, query_positions=query, key_positions=key, encodings=encodings, causal=True, layout="bhtd").shape
        torch.Size([1, 4, 3, 8])
    """
    asked = collected(
        q,
        k,
        v,
        query_positions=query_positions,
        key_positions=key_positions,
        encodings=encodings,
        layout=layout,
        causal=causal,
        window=window,
        mask=mask,
        documents=documents,
        hidden=hidden,
        scale=scale,
        dropout=dropout,
        keys_rotated=keys_rotated,
    )
    output = _attended(asked, choose(asked, impl))
    output = output if asked.guard is None else output + asked.guard.to(output.dtype)
    return output if layout == "bhtd" else output.transpose(1, 2)


def chosen_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding | EncodingModule | SharedBias] = (),
    causal: bool = False,
    window: Window | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    keys_rotated: bool = False,
    impl: Impl = "auto",
) -> AttentionChoice:
    """The path that `attention` takes for these arguments, and why.

    A named one that cannot be taken is a ValueError.

    Example:
        >>> import torch
        >>> from posenc import T5Bias
        >>> from posenc.torch import module
        >>> x, place = torch.randn(1, 2, 6, 8), torch.arange(6)
        >>> with torch.no_grad():
        ...     chosen_attention(x, x, x, query_positions=place, key_positions=place, encodings=[module(T5Bias(heads=2))], layout="bhtd")
        AttentionChoice(impl='strided', reason='every bias depends on the distance alone, and positions rise by one')
    """
    asked = collected(
        q,
        k,
        v,
        query_positions=query_positions,
        key_positions=key_positions,
        encodings=encodings,
        layout=layout,
        causal=causal,
        window=window,
        mask=mask,
        documents=documents,
        hidden=hidden,
        scale=scale,
        dropout=dropout,
        keys_rotated=keys_rotated,
    )
    return choose(asked, impl)


def _attended(asked: Arguments, choice: AttentionChoice) -> Any:
    if choice.impl == "sdpa":
        return _sdpa(asked)
    if choice.impl == "strided":
        return strided_path.attend(asked)
    if choice.impl == "skewed":
        return skewed_path.attend(asked)
    if choice.impl == "tiles":
        return tiles.attend_in_tiles(asked, tiles.queries_per_tile(asked))
    if choice.impl == "dense":
        return tiles.attend_in_tiles(asked, max(1, asked.queries))
    if choice.impl == "flex":
        from posenc.torch.attention_paths import flex_path  # it takes torch's compiler with it

        return flex_path.attend(asked)
    return _reference(asked)


def _sdpa(asked: Arguments) -> Any:
    q, k, v = tiles.rotated_vectors(asked)
    output = scaled_dot_product_attention(
        q,
        k,
        v,
        dropout_p=asked.dropout,
        is_causal=asked.causal and asked.queries > 1,
        scale=asked.scale,
        enable_gqa=not validation.equals_one_of(q.shape[1], k.shape[1]),
    )
    return tiles.rotated_back(asked, output, asked.query_positions)


def _reference(asked: Arguments) -> Any:
    parts = asked.modules
    visible_keys = visible(asked, 0, asked.queries, 0, asked.keys)
    attended = reference.attention(
        asked.q,
        asked.k,
        asked.v,
        query_positions=asked.query_positions,
        key_positions=asked.key_positions,
        layout="bhtd",
        encodings=[each.encoding for each in parts],
        params=[each.params for each in parts],
        mask=None if visible_keys is None else visible_keys.expand(*asked.q.shape[:3], asked.keys),
        scale=asked.scale,
        hidden=asked.hidden,
        documents=asked.documents,
    )
    return attended.output
