"""The kernel for accelerators, in Triton: queries and keys in one launch, in place or into new memory.

It applies a `Rotation`, whichever encoding made it, or makes cosines and sines itself of whole positions and exact
frequencies (`cos_sin_kernel`); its reference is `Rotation.__call__`. A program rotates a tile of heads of one token
(`head_block`, `launch`), so that what is the same for them is read once. Products and sums are rounded one by one in
float32, never fused, so a rotation gives the bits of its reference.

Importing this package needs Triton, and tells PyTorch of the operators.
"""

from __future__ import annotations

from typing import Any

import torch
import triton

from posenc.core.rotation import Rotation
from posenc.kernels.native import DTYPES
from posenc.kernels.triton import custom_operators  # noqa: F401  PyTorch is told of them
from posenc.kernels.triton.cos_sin_kernel import Channels, CosSinSource, of_table
from posenc.kernels.triton.launch import Norm

__all__ = [
    "Channels",
    "CosSinSource",
    "Norm",
    "of_table",
    "rotate",
    "rotate_in_place",
    "rotate_into_cache",
    "unsupported_reason",
    "unsupported_tensors",
]

#: The widest head that one program holds.
WIDEST = 4096
#: Where Triton runs; its interpreter is chosen before it is imported.
WHERE = "cpu" if triton.knobs.runtime.interpret else "cuda"
PLAIN = Norm()


def unsupported_reason(rotation: Rotation, *tensors: Any) -> str | None:
    """Why the kernel cannot rotate these tensors, (batch, heads, time, dim); None where it can."""
    if rotation.cos.dtype != torch.float32 or rotation.cos.requires_grad or rotation.sin.requires_grad:
        return "the rotation is not float32, or is learned"
    return unsupported_tensors(rotation.cos, *tensors)


def unsupported_tensors(table: Any, *tensors: Any) -> str | None:
    """Why the kernel cannot take these tensors with this table or these positions; None where it can."""
    for x in (table, *tensors):
        if x.device.type != WHERE:
            return f"a tensor is on {x.device.type}, and Triton runs on {WHERE}"
    for x in tensors:
        if x.dtype not in DTYPES:
            return f"a tensor is {x.dtype}".replace("torch.", "")
        if x.stride(-1) != 1:
            return "the channels of a tensor are not side by side"
        if x.shape[-1] > WIDEST:
            return f"heads are wider than {WIDEST}"
    return None


def rotate(q: Any, k: Any, cos_sin: CosSinSource, channels: Channels, norm: Norm = PLAIN) -> tuple[Any, Any]:
    """Rotate q and k, (batch, heads, time, dim), into new memory; with gradients for both."""
    rotated: tuple[Any, Any] = torch.ops.posenc.rotate_pair_triton(q, k, False, *cos_sin, *channels, *norm)
    return rotated


def rotate_in_place(q: Any, k: Any, cos_sin: CosSinSource, channels: Channels, norm: Norm = PLAIN) -> None:
    """Rotate q and k, (batch, heads, time, dim), in place; no gradient is recorded."""
    torch.ops.posenc.rotate_pair_triton_(q, k, False, *cos_sin, *channels, *norm)


def rotate_into_cache(
    q: Any, k: Any, v: Any, caches: tuple[Any, Any], slots: Any, paged: bool,
    cos_sin: CosSinSource, channels: Channels, norm: Norm = PLAIN,
) -> None:  # fmt: skip
    """Rotate q in place, rotate k into the first cache and copy v into the second; no gradient is recorded.

    Slots and caches are those of `native.rotate_into_cache`. A slot that does not exist writes nothing, and gives NaN
    for the token's query.
    """
    torch.ops.posenc.rotate_into_cache_triton_(q, k, v, *caches, slots, paged, *cos_sin, *channels, *norm)
