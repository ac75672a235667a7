"""A bias for flex_attention, which never forms the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.doors import AttentionBias, Params
from posenc.torch.attention_paths.decode_bias import row_of_positions
from posenc.torch.modules.encoding_module import EncodingModule, encoding_and_params

ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]


def score_mod(
    encoding: AttentionBias | EncodingModule, query_positions: Array, key_positions: Array, params: Params | None = None
) -> ScoreMod:
    """The `score_mod` of `torch.nn.attention.flex_attention` that adds the encoding's bias.

    A number that is a sum itself (Sandwich, FIRE, DynamicPositionBias) runs in flex_attention uncompiled alone, since
    PyTorch compiles no sum inside a score_mod; take `strided_attention` where the encoding is relative.

    It is `encoding.bias` at one place, so it equals the dense bias of `posenc.torch.Bias`.

    Args:
        encoding: An encoding, or its module, which brings its parameters;.
        query_positions: (n,) or (batch, n).
        key_positions: (m,) or (batch, m), positions of the queries and keys, integer or float tensors on the device of
            attention, with a last axis of coordinates where the encoding has several: a step of decoding gives its own
            `query`. With grouped heads (`enable_gqa=True`) the encoding's heads are those of the queries.
        params: What an encoding learns, None if nothing.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch
        >>> from posenc import ALiBi
        >>> add = score_mod(ALiBi(heads=2), torch.tensor([4, 5]), torch.arange(6))
        >>> add(torch.tensor(1.0), *map(torch.tensor, (0, 1, 0, 2)))  # head 1, query at 4, key at 2: 1 - 2/256
        tensor(0.9922)
    """
    encoding, params = encoding_and_params(encoding, params)
    validation.instance("encoding", encoding, AttentionBias, "an encoding that biases")
    query_positions, key_positions = (
        row_of_positions("query_positions", query_positions, encoding.axes),
        row_of_positions("key_positions", key_positions, encoding.axes),
    )
    encoding.checked(params)
    one = 1 if encoding.axes == 1 else 2  # axes of the positions of one sequence

    def add_bias(score: Array, batch: Array, head: Array, query_index: Array, key_index: Array) -> Array:
        there = query_positions[query_index] if query_positions.ndim == one else query_positions[batch, query_index]
        here = key_positions[key_index] if key_positions.ndim == one else key_positions[batch, key_index]
        return score + encoding.bias(head, there, here, params, dtype=arrays.library(score).wide_dtype(score.dtype))

    return add_bias
