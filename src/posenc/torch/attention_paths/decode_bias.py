"""A bias for one step of decoding, and the slopes that fused kernels take."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import AttentionBias, Params
from posenc.encodings.biases.alibi import ALiBi
from posenc.torch.modules.encoding_module import EncodingModule, encoding_and_params


def decode_row(
    encoding: AttentionBias | EncodingModule,
    query_positions: Array,
    key_positions: Array,
    params: Params | None = None,
    *,
    dtype: Any = None,
) -> Any:
    """The bias of one query for all its keys, as a step of decoding wants it.

    Args:
        encoding: An encoding, or its module, which brings its parameters;.
        query_positions: () or (batch,), where the new token of each sequence stands;.
        key_positions: (m,) or (batch, m), positions of the keys in the cache, the new one's among them; with a last
            axis of coordinates where the encoding has several axes. Result: (1, heads, 1, m) or (batch, heads, 1, m),
            what `scaled_dot_product_attention` takes as `attn_mask`; float32 unless dtype says otherwise.
        params: What an encoding learns, None if nothing.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch
        >>> from posenc import ALiBi
        >>> decode_row(ALiBi(heads=1, steepest=1.0), torch.tensor(3), torch.arange(4)).tolist()
        [[[[-1.5, -1.0, -0.5, 0.0]]]]
    """
    encoding, params = encoding_and_params(encoding, params)
    validation.instance("encoding", encoding, AttentionBias, "an encoding that biases")
    _tensor("query_positions", query_positions)
    last = () if encoding.axes == 1 else (encoding.axes,)
    if (
        not len(last) <= query_positions.ndim <= 1 + len(last)
        or tuple(query_positions.shape[query_positions.ndim - len(last) :]) != last
    ):
        raise ValueError(
            f"query_positions must have shape {last} or (batch,{f' {last[0]}' if last else ''}); got {tuple(query_positions.shape)}. "
            "Give one position a sequence."
        )
    query_positions, key_positions = (
        query_positions.unsqueeze(-1 - len(last)),
        row_of_positions("key_positions", key_positions, encoding.axes),
    )
    check_together(query_positions, key_positions, encoding.axes)
    row = encoding.matrix(query_positions, key_positions, params, dtype=dtype)
    return row if row.ndim == 4 else row[None]


def slopes(encoding: ALiBi, *, device: Any = None) -> Any:
    """The slopes of ALiBi as fused kernels take them (`alibi_slopes=` of flash-attention).

    Positive, float32, (heads,).

    Such a kernel adds -slope · |distance| to the scaled logits, its queries set against the end of the keys: positions
    that are packed or padded must be told to it in its own way.

    Args:
        device: Where the tensor lives; the CPU unless given.

    Raises:
        TypeError: For another encoding, ValueError for form="signed".

    Example:
        >>> from posenc import ALiBi
        >>> slopes(ALiBi(heads=4))
        tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    if not isinstance(encoding, ALiBi):
        raise TypeError(
            f"encoding must be ALiBi, the one bias that a slope describes; got {validation.shown(encoding)}. Use "
            "strided_attention or score_mod."
        )
    if encoding.form != "symmetric":
        raise ValueError(
            f"encoding must have form='symmetric', as fused kernels have; got {encoding!r}. Behind a causal mask both "
            "forms are equal: use form='symmetric'."
        )
    return torch.tensor(encoding.slopes(), dtype=torch.float32, device=device)


def row_of_positions(name: str, positions: Any, axes: int = 1) -> Any:
    """A tensor of positions, one row for all sequences or one each, with a last axis of coordinates where there are several."""
    _tensor(name, positions)
    last = "" if axes == 1 else f", {axes}"
    if positions.ndim - (axes > 1) not in (1, 2) or (axes > 1 and positions.shape[-1] != axes):
        raise ValueError(
            f"{name} must have shape (n{last or ','}) or (batch, n{last}); got {tuple(positions.shape)}. Give one row "
            "of positions, or one for each sequence."
        )
    return positions


def check_together(query_positions: Any, key_positions: Any, axes: int = 1) -> None:
    """Positions of queries and keys of one batch, on one device."""
    if key_positions.device != query_positions.device:
        raise ValueError(
            f"key_positions must be on the device of query_positions, {query_positions.device}; got "
            f"{key_positions.device}. Move them there."
        )
    batches = {x.shape[0] for x in (query_positions, key_positions) if x.ndim - (axes > 1) == 2} - {1}
    if len(batches) > 1:
        raise ValueError(
            f"key_positions must have the batch of query_positions; got shapes {tuple(query_positions.shape)} and "
            f"{tuple(key_positions.shape)}. Give one row each, or one for all."
        )


def _tensor(name: str, positions: Any) -> None:
    validation.instance(name, positions, torch.Tensor, "a tensor of positions on the device of attention")
