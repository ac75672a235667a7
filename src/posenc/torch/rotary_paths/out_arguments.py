"""Memory that a table is to be written into: checked before anything is."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.torch.rotary_paths.aliasing import beyond, check_writable, disjoint, require_no_grad
from posenc.torch.tensor_arguments import plain_tensor


def check_out(name: str, out: Any, shape: tuple[int, ...], dtype: Any, positions: Array) -> None:
    """Refuse what cannot take a table of this shape and dtype, made of these positions."""
    plain_tensor(name, out)
    if out.dtype != dtype:
        raise TypeError(f"{name} must be {dtype}; got {out.dtype}. Allocate it so, or ask for another dtype.")
    if tuple(out.shape) != shape or out.device != positions.device:
        raise ValueError(
            f"{name} must have shape {shape}, on {positions.device}; got {tuple(out.shape)} on {out.device}. "
            "Allocate it so."
        )
    require_no_grad(name, out, "to be written into", "Detach it")
    if torch.compiler.is_compiling():
        return
    check_writable(name, out, "Allocate it")
    if not beyond(out, positions):
        raise ValueError(f"{name} must have memory of its own; got that of positions. Allocate it.")


def check_pair(out: tuple[Any, Any], shape: tuple[int, ...], dtype: Any, positions: Array) -> None:
    """`check_out` of both, which must share no number."""
    for name, part in zip(("out[0]", "out[1]"), out, strict=True):
        check_out(name, part, shape, dtype, positions)
    if not torch.compiler.is_compiling() and not disjoint(*out):
        raise ValueError("out[1] must have memory of its own; got some of that of out[0]. Allocate it.")


def copied(result: Array, out: Array) -> Array:
    """What the reference made, in `out`."""
    if torch.is_grad_enabled() and result.requires_grad:
        raise ValueError("out must be None where a gradient is recorded; got memory to write into. Leave it out.")
    return out.copy_(result)


def rows_of_out(out: Array) -> Array:
    """The same memory as (1, rows, width)."""
    return out.view((1, out.shape[:-1].numel(), out.shape[-1]))


def unsupported_positions(positions: Array, dtype: Any) -> str | None:
    """Why the kernel cannot make float32 numbers of these positions in this dtype; None where it can."""
    if arrays.kind(positions) != "integer":
        return f"positions are {arrays.dtype_name(positions.dtype)}, not whole"
    if positions.device.type != "cpu":
        return f"positions are on {positions.device.type}"
    return None if dtype in (None, torch.float32) else f"numbers are to be {dtype}".replace("torch.", "")


def unsupported_rows(out: Any) -> str | None:
    """Why the kernel cannot write these rows; None where it can, or where `check_out` will say what they are."""
    if not isinstance(out, torch.Tensor) or out.ndim < 1:
        return None
    try:
        return None if rows_of_out(out).stride(-1) == 1 else "the numbers of a row of out are not side by side"
    except RuntimeError:
        return "the rows of out do not lie evenly apart"
