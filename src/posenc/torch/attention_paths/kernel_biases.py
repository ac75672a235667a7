"""Biases in the forms that other kernels take: a row for a step of decoding, slopes, and a score_mod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
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
    """Make the bias of one query for all its keys, as a step of decoding wants it.

    Args:
        encoding: An encoding that biases, or its module, which brings its parameters.
        query_positions: () or (batch,), the position of the new token of each sequence.
        key_positions: (m,) or (batch, m), positions of the keys in the cache, the new one's among them; with a last
            axis of coordinates where the encoding has several.
        params: What an encoding learns; None if nothing.
        dtype: Of the result; float32 for None.

    Returns:
        The row, (1, heads, 1, m) or (batch, heads, 1, m), as `scaled_dot_product_attention` takes it for `attn_mask`.

    Raises:
        TypeError: `encoding` does not bias, or positions are no tensors.
        ValueError: Positions have another shape, batch or device.

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
            f"query_positions must have shape {last} or (batch,{f' {last[0]}' if last else ''}); got "
            f"{tuple(query_positions.shape)}. Give one position a sequence."
        )
    query_positions, key_positions = (
        query_positions.unsqueeze(-1 - len(last)),
        row_of_positions("key_positions", key_positions, encoding.axes),
    )
    check_together(query_positions, key_positions, encoding.axes)
    row = encoding.matrix(query_positions, key_positions, params, dtype=dtype)
    return row if row.ndim == 4 else row[None]


def slopes(encoding: ALiBi, *, device: Any = None) -> Any:
    """Return the slopes of ALiBi as fused kernels take them (`alibi_slopes=` of flash-attention).

    Such a kernel adds -slope · |distance| to the scaled logits, its queries set against the end of the keys: positions
    that are packed or padded must be told to it in its own way.

    Args:
        encoding: ALiBi with `form="symmetric"`.
        device: Where the tensor lives; the CPU for None.

    Returns:
        Positive slopes, float32, (heads,).

    Raises:
        TypeError: `encoding` is another one.
        ValueError: `encoding` has `form="signed"`.

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
    if not isinstance(device, torch.device | str | int | None) or isinstance(device, bool):
        raise TypeError(f"device must be a torch.device, its name or None; got {validation.shown(device)}. Give 'cpu'.")
    try:
        return torch.tensor(encoding.slopes(), dtype=torch.float32, device=device)
    except (RuntimeError, OverflowError, ValueError) as error:
        words = str(error).splitlines()[0][:100]
        raise ValueError(f"device must be one of this machine; got {validation.shown(device)} ({words}).") from None


def row_of_positions(name: str, positions: Any, axes: int = 1) -> Any:
    """A tensor of positions, (n,) or (batch, n), with a last axis of coordinates where there are several."""
    _tensor(name, positions)
    last = "" if axes == 1 else f", {axes}"
    if positions.ndim - (axes > 1) not in (1, 2) or (axes > 1 and positions.shape[-1] != axes):
        raise ValueError(
            f"{name} must have shape (n{last or ','}) or (batch, n{last}); got {tuple(positions.shape)}. Give one row "
            "of positions, or one for each sequence."
        )
    return checked(positions, name).array


def check_together(query_positions: Any, key_positions: Any, axes: int = 1) -> None:
    """Refuse positions of queries and keys of other batches or devices."""
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


ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]


def score_mod(
    encoding: AttentionBias | EncodingModule, query_positions: Array, key_positions: Array, params: Params | None = None
) -> ScoreMod:
    """Make the `score_mod` of `torch.nn.attention.flex_attention` that adds the encoding's bias.

    It equals the dense bias of `posenc.torch.Bias`. A number that is a sum itself (Sandwich, FIRE, DynamicPositionBias)
    runs in flex_attention uncompiled alone, since PyTorch compiles no sum inside a score_mod; take `strided_attention`
    where the encoding is relative.

    Args:
        encoding: An encoding that biases, or its module, which brings its parameters.
        query_positions: (n,) or (batch, n), integers or floats on the device of attention, with a last axis of
            coordinates where the encoding has several; a step of decoding gives its own.
        key_positions: (m,) or (batch, m), likewise.
        params: What an encoding learns; None if nothing.

    Returns:
        The function. With grouped heads (`enable_gqa=True`) the encoding's heads are those of the queries.

    Raises:
        TypeError: `encoding` does not bias, or positions are no tensors.
        ValueError: Positions have another shape, or `params` are given for a module.

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
    query_positions, key_positions = (
        x[0] if x.ndim > one and validation.equals_one_of(x.shape[0], 1) else x
        for x in (query_positions, key_positions)
    )

    def add_bias(score: Array, batch: Array, head: Array, query_index: Array, key_index: Array) -> Array:
        there = query_positions[query_index] if query_positions.ndim == one else query_positions[batch, query_index]
        here = key_positions[key_index] if key_positions.ndim == one else key_positions[batch, key_index]
        return score + encoding.bias(head, there, here, params, dtype=arrays.library(score).wide_dtype(score.dtype))

    return add_bias
