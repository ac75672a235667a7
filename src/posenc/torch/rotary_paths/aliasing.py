"""Which tensors may be written: memory of their own, apart from all else that is read or written."""

from __future__ import annotations

import torch

from posenc.core.arrays import Array

#: Stride, and places of the one tensor and of the other.
Axis = tuple[int, int, int]


def overlaps(x: Array) -> bool:
    """Whether two numbers of x lie in one place, as far as can be seen.

    Yes where an axis does not step over all that smaller ones reach.
    """
    known = torch._debug_has_internal_overlap(x)  # 0: no; 1: yes; 2: it does not look closer
    return bool(known == 1 or (known == 2 and _self_overlapping(_axes(x, x))))


def beyond(one: Array, other: Array) -> bool:
    """Whether one ends in memory before the other begins."""
    if not one.numel() or not other.numel():
        return True
    (begin, end), (first, last) = ((x.data_ptr(), x.data_ptr() + _extent(x)) for x in (one, other))
    return bool(end <= first or last <= begin)


def disjoint(one: Array, other: Array) -> bool:
    """Whether two tensors share no number, as far as can be seen, though one may reach into the other's memory.

    As queries and keys of one projection do, or keys and values of one cache.
    """
    if beyond(one, other):
        return True
    bytes_behind = other.data_ptr() - one.data_ptr()
    if one.ndim != other.ndim or one.element_size() != other.element_size() or bytes_behind % one.element_size():
        return False
    pairs = zip(one.shape, other.shape, one.stride(), other.stride(), strict=True)
    same_shape = all(first == second or 1 in (a, b) for a, b, first, second in pairs)
    return same_shape and not _meet(_axes(one, other), bytes_behind // one.element_size())


def require_no_grad(name: str, x: Array, reason: str, instead: str) -> None:
    """Refuse what needs a gradient where none is recorded."""
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} must not require a gradient {reason}; got one that does. {instead}.")


def check_writable(name: str, x: Array, instead: str) -> None:
    """Refuse memory that PyTorch lets nobody write to, and memory that would be written twice.

    Asks nothing while compiling.
    """
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
    """Let autograd know of tensors that an operator of ours has written, so that one which it keeps is not taken for what it was."""
    if not torch.compiler.is_compiling():
        torch.autograd.graph.increment_version(tensors)


def _axes(one: Array, other: Array) -> list[Axis]:
    """Axes with more than one place in either, the largest stride first."""
    axes = zip(one.stride(), other.stride(), one.shape, other.shape, strict=True)
    kept = [(first if a > 1 else second, a, b) for first, second, a, b in axes if a > 1 or b > 1]
    return sorted(kept, reverse=True)


def _reach(axes: list[Axis]) -> int:
    return max(sum((axis[which] - 1) * axis[0] for axis in axes) for which in (1, 2))


def _extent(x: Array) -> int:
    """Bytes from its first number to behind its last."""
    return int(x.element_size() * (_reach(_axes(x, x)) + 1))


def _self_overlapping(axes: list[Axis]) -> bool:
    return any(_reach(axes[index + 1 :]) >= axis[0] for index, axis in enumerate(axes))


def _meet(axes: list[Axis], behind: int) -> bool:
    """Whether steps along the axes lead from the one tensor to the other, which begins so many numbers behind.

    True where axes reach into each other.
    """
    if not axes:
        return behind == 0
    (stride, one, other), *rest = axes
    if _reach(rest) >= stride:
        return True
    steps = behind // stride
    return any(-other < step < one and _meet(rest, behind - step * stride) for step in (steps, steps + 1))
