"""Checks of queries, keys and rotation before any kernel runs."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import Layout, Operator, Rotation
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.rotary_paths.aliasing import check_writable, disjoint, require_no_grad
from posenc.torch.rotary_paths.angles import Angles
from posenc.torch.tensor_arguments import plain_tensor


def heads_first(x: Array, layout: Layout) -> Array:
    """View x as (batch, heads, time, dim)."""
    return x if layout == "bhtd" else x.transpose(1, 2)


def check_rotation(rotation: Any) -> None:
    """Refuse anything but a Rotation of tensors or Angles, and name the call that makes one."""
    if (isinstance(rotation, Rotation) and isinstance(rotation.cos, torch.Tensor)) or isinstance(rotation, Angles):
        return
    if isinstance(rotation, Rotation):
        raise TypeError(
            "rotation must hold PyTorch tensors; got cos and sin of "
            f"{type(rotation.cos).__module__}.{type(rotation.cos).__name__}. Make it from a tensor of positions: "
            "encoding.rotation(torch.arange(n))."
        )
    if isinstance(rotation, RotaryEncoding):
        got, advice = repr(rotation), "Call its rotation(positions)"
    elif isinstance(rotation, EncodingModule):
        got, advice = repr(rotation), "Call the module itself: module(q, k, positions, positions, layout=layout)"
    elif isinstance(rotation, Operator):
        got, advice = f"{type(rotation).__name__}, another map", "Call it instead: operator(q, layout=layout)"
    elif hasattr(rotation, "shape") or isinstance(rotation, list | tuple | range):
        got, advice = f"positions, it seems ({type(rotation).__name__})", "Give encoding.rotation(positions)"
    else:
        got, advice = validation.shown(rotation), "Give encoding.rotation(positions)"
    raise TypeError(f"rotation must be a Rotation, or what posenc.torch.angles gives; got {got}. {advice}.")


def check_vectors(q: Array, k: Array, rotation: Rotation | Angles, layout: Layout) -> None:
    """Refuse q, k and rotation that differ in width, length, batch, heads, dtype or device."""
    rows, count, by_head, device = shape_of_rotation(rotation)
    time, heads = (2, 1) if layout == "bhtd" else (1, 2)
    for name, x in (("q", q), ("k", k)):
        plain_tensor(name, x)
        shape = x.shape
        if len(shape) != 4 or shape[3] != rotation.dim:
            raise ValueError(
                f"{name} must have shape {layout!r} with d = {rotation.dim}; got {tuple(shape)}. "
                "Give whole heads, four axes."
            )
        if shape[time] != count or not validation.equals_one_of(rows, 1, shape[0]):
            raise ValueError(
                f"{name} must have the positions of the rotation, {rows} × {count}; got {tuple(shape)} ({layout}). "
                "Make the rotation from the positions of these tokens."
            )
        if by_head is not None and by_head != shape[heads]:
            raise ValueError(
                f"{name} must have {by_head} heads, one for each rotation of the rotation; got {tuple(shape)} "
                f"({layout}). Repeat grouped heads first."
            )
    where = q.device
    if q.dtype != k.dtype or k.device != where or q.shape[0] != k.shape[0]:
        raise ValueError(
            f"k must have the dtype, device and batch of q; got {k.dtype}, {k.device}, {k.shape[0]} for {q.dtype}, "
            f"{where}, {q.shape[0]}. Convert one of them."
        )
    if device != where:
        raise ValueError(f"rotation must be on the device of q, {where}; got {device}. Make it there.")


def shape_of_rotation(rotation: Rotation | Angles) -> tuple[int, int, int | None, Any]:
    """Return (rows, 1 if the batch shares one; positions a row; heads with rotations of their own or None; device)."""
    if isinstance(rotation, Angles):
        return (
            rotation.integer_positions.shape[0],
            rotation.integer_positions.shape[1],
            None,
            rotation.integer_positions.device,
        )
    shape = rotation.cos.shape
    plain = len(shape) - (2 if rotation.heads is None else 3)
    return shape[0] if plain else 1, shape[-2], rotation.heads, rotation.cos.device


def writable(name: str, x: Array) -> None:
    """Refuse a tensor that requires a gradient or cannot be written in place."""
    require_no_grad(name, x, "to be rotated in place", "Use rotate")
    check_writable(name, x, "Clone it, or use rotate")


def writable_pair(q: Array, k: Array) -> None:
    """Refuse queries and keys that cannot be written in place, or that share memory."""
    for name, x in (("q", q), ("k", k)):
        check_writable(name, x, "Clone it, or use rotate")
    if not torch.compiler.is_compiling() and not disjoint(q, k):
        raise ValueError(
            "k must not share memory with q, which would be rotated twice; got tensors that do. Clone one."
        )
