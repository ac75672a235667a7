"""Weights of a probe of T5: its encoder and its decoder have tables of biases whose rows tell the buckets apart."""

from __future__ import annotations

import numpy as np

from posenc.probe.architecture import Sizes
from posenc.probe.stream import LAYER_SHARE, LOGIT, TIED_NORM, TOKEN_VALUE, Stream

#: Tokens: each is the key or is not, and is asked or is not, so that all have vectors of one length.
KEY, FILLER, ASKED, ASKED_KEY = range(4)
IS_KEY, NO_KEY, IS_ASKED, NOT_ASKED = range(4)
CHANNELS = {
    KEY: (IS_KEY, NOT_ASKED), FILLER: (NO_KEY, NOT_ASKED), ASKED: (NO_KEY, IS_ASKED), ASKED_KEY: (IS_KEY, IS_ASKED),
}  # fmt: skip
#: Heads, and columns of the table.
HEADS = 4
#: Score by which the decoder attends to the token of the encoder that is asked.
ATTENDS = 40.0

Tensors = dict[str, np.ndarray]


def bucket_codes(buckets: int) -> np.ndarray:
    """Make biases that tell buckets apart, (buckets, heads): linear, quadratic, and two that alternate."""
    number = np.arange(buckets)
    share = number / max(buckets - 1, 1)
    return np.stack([2 * share, 2 * share**2, number % 2 - 0.5, number // 2 % 2 - 0.5], 1)


def bucket_head_width(layers: int) -> int:
    """Return a head width at which one cross-attention's values can carry all read-outs of the encoder's layers."""
    return max(8, -(-layers * (HEADS + 1) // HEADS))


def bucket_tensors(stream: Stream, sizes: Sizes, own_tables: bool) -> Tensors:
    """Every tensor by name, float32; `own_tables`: whether each layer has a table, and not the first alone."""
    layers, unit = stream.layers // 2, (sizes.hidden / 3) ** 0.5
    tensors: Tensors = {"shared.weight": _embedding(stream, sizes, unit)}
    for part, first in (("encoder", 0), ("decoder", layers)):
        tensors[f"{part}.final_layer_norm.weight"] = np.ones(sizes.hidden)
        for layer in range(layers):
            block = f"{part}.block.{layer}.layer."
            attention = _self_attention(stream, sizes, unit, first + layer)
            if own_tables or layer == 0:
                attention["relative_attention_bias"] = bucket_codes(sizes.rows)
            tensors |= _sublayer(f"{block}0.", "SelfAttention", attention, sizes)
            if part == "decoder":
                cross = _cross_attention(stream, sizes, unit) if layer == 0 else _attention(sizes)
                tensors |= _sublayer(f"{block}1.", "EncDecAttention", cross, sizes)
            last = f"{block}{2 if part == 'decoder' else 1}."
            tensors |= _sublayer(last, "DenseReluDense", _feed_forward(sizes), sizes)
    tensors["decoder.final_layer_norm.weight"] = np.full(sizes.hidden, TIED_NORM)
    return {name: np.ascontiguousarray(array, np.float32) for name, array in tensors.items()}


def _embedding(stream: Stream, sizes: Sizes, unit: float) -> np.ndarray:
    """Rows of the input tokens, and of the output tokens, (vocabulary, hidden)."""
    rows = np.zeros((stream.vocabulary, sizes.hidden))
    for token, channels in CHANNELS.items():
        rows[token, [*channels, stream.constant]] = TOKEN_VALUE
    read = np.arange(stream.constant + 1, stream.vocabulary)
    rows[read, read] = LOGIT / (LAYER_SHARE * unit * TIED_NORM)
    return rows


def _sublayer(prefix: str, name: str, matrices: Tensors, sizes: Sizes) -> Tensors:
    named = {f"{prefix}{name}.{matrix}.weight": array for matrix, array in matrices.items()}
    return {f"{prefix}layer_norm.weight": np.ones(sizes.hidden), **named}


def _attention(sizes: Sizes) -> Tensors:
    """Projections of zeros, (out, in)."""
    inner = sizes.heads * sizes.head
    return {name: np.zeros((inner, sizes.hidden)) for name in "qkv"} | {"o": np.zeros((sizes.hidden, inner))}


def _self_attention(stream: Stream, sizes: Sizes, unit: float, layer: int) -> Tensors:
    """Make projections by which scores are biases alone; heads write their weight on the key, head 0 the sum too."""
    matrices, size = _attention(sizes), TOKEN_VALUE * LAYER_SHARE
    for head in range(sizes.heads):
        matrices["v"][head * sizes.head, IS_KEY] = 1 / unit
        matrices["o"][stream.weight(layer, head), head * sizes.head] = size
    matrices["v"][1, stream.constant] = 1 / unit
    matrices["o"][stream.whole(layer), 1] = size
    return matrices


def _cross_attention(stream: Stream, sizes: Sizes, unit: float) -> Tensors:
    """Make projections by which heads attend to the asked token and copy what the encoder's layers wrote there."""
    matrices = _attention(sizes)
    heads = np.arange(sizes.heads) * sizes.head
    matrices["q"][heads, stream.constant] = ATTENDS / unit
    matrices["k"][heads, IS_ASKED] = 1 / unit
    written = np.arange(stream.constant + 1, stream.weight(stream.layers // 2))
    slots = np.arange(len(written))
    matrices["v"][slots, written] = 1 / (LAYER_SHARE * unit)
    matrices["o"][written, slots] = TOKEN_VALUE * LAYER_SHARE
    return matrices


def _feed_forward(sizes: Sizes) -> Tensors:
    return {"wi": np.zeros((sizes.inner, sizes.hidden)), "wo": np.zeros((sizes.hidden, sizes.inner))}
