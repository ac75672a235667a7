"""Cosines and sines of learned frequencies as one operator of a compiled program.

A tracer that walks through their fixed point sees 300 operations, and inductor takes minutes for them.

The operator computes what `posenc.phase` defines, in float64, and its gradient is written out there.
"""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.arrays.torch_library import Torch
from posenc.core.checked_positions import Positions, checked
from posenc.phase import cos_sin_of_learned, learned_gradients


class TorchWithOperator(Torch):
    """PyTorch in a compiled program, whose cosines and sines of learned frequencies are one operator."""

    @staticmethod
    def cos_sin_of_learned(coordinates: Array, frequencies: Array) -> tuple[Array, Array]:
        cosine, sine = torch.ops.posenc.cos_sin_of_learned(coordinates, frequencies)
        return cosine, sine


def with_operator(positions: Array) -> Positions:
    """Checked positions whose array library is `TorchWithOperator`, for an encoding of learned frequencies."""
    found = checked(positions)
    return found._replace(lib=TorchWithOperator(positions.device))


def _cos_sin(coordinates: Any, frequencies: Any) -> tuple[Any, Any]:
    """Cosines and sines (*batch, n, pairs) of positions (*batch, n, axes) and frequencies (axes, pairs)."""
    lib, is_integer = arrays.library(coordinates), arrays.kind(coordinates) == "integer"
    # Values count as unread, as they do for a tracer: a position out of range gives NaN.
    parts = [Positions(part, lib, is_integer, False, None) for part in coordinates.unbind(-1)]
    return cos_sin_of_learned(parts, frequencies.unbind(0), lib.real)


def _fake(coordinates: Any, frequencies: Any) -> tuple[Any, Any]:
    shape, real = (*coordinates.shape[:-1], frequencies.shape[-1]), arrays.library(coordinates).real
    return coordinates.new_empty(shape, dtype=real), coordinates.new_empty(shape, dtype=real)


def _setup_context(ctx: Any, inputs: tuple[Any, Any], output: tuple[Any, Any]) -> None:
    ctx.save_for_backward(*inputs, *output)


def _backward(ctx: Any, *incoming: Any) -> tuple[Any, Any]:
    coordinates, frequencies, *cos_sin = ctx.saved_tensors
    wide = cos_sin[0].dtype
    of_positions, of_frequencies = learned_gradients(
        coordinates.to(wide), frequencies.to(wide), tuple(cos_sin), incoming
    )
    moves = coordinates.is_floating_point()
    return of_positions.to(coordinates.dtype) if moves else None, of_frequencies.to(frequencies.dtype)


_OPERATOR = torch.library.custom_op(
    "posenc::cos_sin_of_learned",
    _cos_sin,
    mutates_args=(),
    schema="(Tensor coordinates, Tensor frequencies) -> (Tensor, Tensor)",
)
_OPERATOR.register_fake(_fake)
_OPERATOR.register_autograd(_backward, setup_context=_setup_context)
