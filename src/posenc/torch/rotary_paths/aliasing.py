"""Checks that tensors and `out` arguments can be written in place: writable memory that overlaps nothing else."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.torch.tensor_arguments import plain_tensor

#: Stride, and places of the one tensor and of the other.
Axis = tuple[int, int, int]


def overlaps(x: Array) -> bool:
    """Whether elements of x may share memory: by strides, an axis steps into the range of those with smaller ones."""
    known = torch._debug_has_internal_overlap(x)  # 0: no; 1: yes; 2: it does not look closer
    return bool(known == 1 or (known == 2 and _self_overlapping(_axes(x, x))))


def beyond(one: Array, other: Array) -> bool:
    """Whether the memory ranges of two tensors do not overlap."""
    if not one.numel() or not other.numel():
        return True
    (begin, end), (first, last) = ((x.data_ptr(), x.data_ptr() + _extent(x)) for x in (one, other))
    return bool(end <= first or last <= begin)


def disjoint(one: Array, other: Array) -> bool:
    """Whether two tensors provably share no element; their memory may interleave, as for parts of a projection."""
    if beyond(one, other):
        return True
    bytes_behind = other.data_ptr() - one.data_ptr()
    if one.ndim != other.ndim or one.element_size() != other.element_size() or bytes_behind % one.element_size():
        return False
    pairs = zip(one.shape, other.shape, one.stride(), other.stride(), strict=True)
    same_shape = all(first == second or 1 in (a, b) for a, b, first, second in pairs)
    return same_shape and not _meet(_axes(one, other), bytes_behind // one.element_size())


def require_no_grad(name: str, x: Array, reason: str, instead: str) -> None:
    """Refuse a tensor that requires a gradient, for an operation that records none."""
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} must not require a gradient {reason}; got one that does. {instead}.")


def check_writable(name: str, x: Array, instead: str) -> None:
    """Refuse memory that PyTorch lets nobody write to, or that would be written twice; not while compiling."""
    if torch.compiler.is_compiling():
        return
    if x.is_inference() and not torch.is_inference_mode_enabled():
        raise ValueError(
            f"{name} must not be an inference tensor, which can be written only in inference mode; got one. {instead}."
        )
    if x.is_neg() or x._is_zerotensor():
        raise ValueError(
            f"{name} must not be a negated view or zeros without memory, which cannot be written; got one. {instead}."
        )
    if overlaps(x):
        raise ValueError(f"{name} must not overlap itself in memory; got strides {x.stride()}. {instead}.")


def mark_written(*tensors: Array) -> None:
    """Increment version counters of tensors our operators wrote, so that autograd refuses stale saved values."""
    if not torch.compiler.is_compiling():
        torch.autograd.graph.increment_version(tensors)


def _axes(one: Array, other: Array) -> list[Axis]:
    """Axes (stride, size in one, size in other) with more than one entry in either, the largest stride first."""
    axes = zip(one.stride(), other.stride(), one.shape, other.shape, strict=True)
    kept = [(first if a > 1 else second, a, b) for first, second, a, b in axes if a > 1 or b > 1]
    return sorted(kept, reverse=True)


def _reach(axes: list[Axis]) -> int:
    return max(sum((axis[which] - 1) * axis[0] for axis in axes) for which in (1, 2))


def _extent(x: Array) -> int:
    """Bytes from the first element of x to the end of its last."""
    return int(x.element_size() * (_reach(_axes(x, x)) + 1))


def _self_overlapping(axes: list[Axis]) -> bool:
    return any(_reach(axes[index + 1 :]) >= axis[0] for index, axis in enumerate(axes))


def _meet(axes: list[Axis], behind: int) -> bool:
    """Whether tensors that start `behind` elements apart may share one; True too where axes interleave."""
    if not axes:
        return behind == 0
    (stride, one, other), *rest = axes
    if _reach(rest) >= stride:
        return True
    steps = behind // stride
    return any(-other < step < one and _meet(rest, behind - step * stride) for step in (steps, steps + 1))


def check_out(name: str, out: Any, shape: tuple[int, ...], dtype: Any, positions: Array) -> None:
    """Refuse an `out` tensor that cannot hold a table of this shape and dtype, made of these positions."""
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
    """Refuse a pair of `out` tensors if `check_out` refuses one, or if they share memory."""
    for name, part in zip(("out[0]", "out[1]"), out, strict=True):
        check_out(name, part, shape, dtype, positions)
    if not torch.compiler.is_compiling() and not disjoint(*out):
        raise ValueError("out[1] must have memory of its own; got some of that of out[0]. Allocate it.")


def copied(result: Array, out: Array) -> Array:
    """Copy what the reference made into `out`."""
    if torch.is_grad_enabled() and result.requires_grad:
        raise ValueError("out must be None where a gradient is recorded; got memory to write into. Leave it out.")
    return out.copy_(result)


def rows_of_out(out: Array) -> Array:
    """View `out` as (1, rows, width)."""
    return out.view((1, out.shape[:-1].numel(), out.shape[-1]))


def unsupported_positions(positions: Array, dtype: Any) -> str | None:
    """Why the kernel, which takes integers and gives float32, cannot serve positions and dtype; None where it can."""
    if arrays.kind(positions) != "integer":
        return f"positions are {arrays.dtype_name(positions.dtype)}, not whole"
    if positions.device.type != "cpu":
        return f"positions are on {positions.device.type}"
    return None if dtype is None or dtype is torch.float32 else f"numbers are to be {dtype}".replace("torch.", "")


def unsupported_rows(out: Any) -> str | None:
    """Why the kernel cannot write into `out`; None where it can, or where `check_out` will refuse it."""
    if not isinstance(out, torch.Tensor) or out.ndim < 1:
        return None
    try:
        return None if rows_of_out(out).stride(-1) == 1 else "the numbers of a row of out are not side by side"
    except RuntimeError:
        return "the rows of out do not lie evenly apart"


def unsupported_pair(out: tuple[Any, Any]) -> str | None:
    """Why the kernel cannot write a rotation into `out`; None where it can, or where `check_pair` will refuse it."""
    reason = unsupported_rows(out[0]) or unsupported_rows(out[1])
    if reason or not all(isinstance(part, torch.Tensor) and part.ndim for part in out):
        return reason
    alike = rows_of_out(out[0]).stride() == rows_of_out(out[1]).stride()
    return None if alike else "the rows of both tensors of out have different strides"
