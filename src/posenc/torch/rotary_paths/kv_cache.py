"""Queries rotated, keys rotated straight into their cache and values copied into theirs: one pass, one call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from posenc.core import validation
from posenc.core.rotation import Layout, Rotation
from posenc.torch.rotary_paths import fast_path
from posenc.torch.rotary_paths.aliasing import beyond, disjoint, mark_written, require_no_grad
from posenc.torch.rotary_paths.angles import Angles
from posenc.torch.rotary_paths.apply_rotation import kernel_for, rotate
from posenc.torch.rotary_paths.argument_checks import heads_first, writable
from posenc.torch.rotary_paths.rotation_kernels import Impl
from posenc.torch.tensor_arguments import plain_tensor


def rotate_into_cache_(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rotation: Rotation | Angles,
    k_cache: Tensor,
    v_cache: Tensor,
    slots: Tensor,
    *,
    layout: Layout,
    paged: bool = False,
    impl: Impl = "auto",
) -> Tensor:
    """Rotate q in place, rotate k into its cache and copy v into its own, at `slots`; k and v stay.

    The cache gets the bits of `rotate_`; no gradient is recorded. On an accelerator, and in `torch.compile` where the
    compiled kernel does not run, slots are not looked at: one that does not exist writes nothing, and gives NaN for its
    query.

    Args:
        q: Queries, (batch, heads, time, dim) for layout "bhtd".
        k: Keys, (batch, key heads, time, dim).
        v: Values, (batch, key heads, time, any width).
        rotation: As for `rotate`.
        k_cache: (batch, key heads, length, dim) for "bhtd", (batch, length, key heads, dim) for "bthd", of the dtype of
            q.
        v_cache: Likewise, in the width of v.
        slots: int64 or int32, (time,) or (batch, time): the index of each token in its row of the caches. What no slot
            names is not touched.
        layout: Order of the axes of all tensors, "bhtd" or "bthd".
        paged: Whether caches are (pages, key heads, page, width) or (pages, page, key heads, width), and a slot is its
            page times the size of a page plus the index in it.
        impl: As for `rotate_`.

    Returns:
        q itself, rotated.

    Raises:
        TypeError: As for `rotate_`; or slots are no whole numbers.
        ValueError: As for `rotate_`; or slots do not exist or are named twice, caches have another shape, dtype or
            device, or tensors share memory.

    Example:
        >>> import torch, posenc
        >>> q, k, v = torch.ones(1, 4, 1, 8), torch.ones(1, 2, 1, 8), torch.ones(1, 2, 1, 8)
        >>> keys, values = torch.zeros(1, 2, 16, 8), torch.zeros(1, 2, 16, 8)
        >>> rotation = posenc.RoPE(dim=8).rotation(torch.tensor([5]))
        >>> rotated = rotate_into_cache_(q, k, v, rotation, keys, values, torch.tensor([5]), layout="bhtd")
        >>> torch.equal(keys[0, 0, 5], rotated[0, 0, 0]), values.sum().item()
        (True, 16.0)
    """
    if fast_path.rotate_into_cache_(rotation, slots, layout, paged, impl, (q, k, v, k_cache, v_cache)):
        return q
    kernel, _ = kernel_for(q, k, rotation, layout, impl)
    validation.truth("paged", paged)
    _check_values(q, k, v, layout)
    extent = _check_caches(k, v, k_cache, v_cache, layout, paged)
    slots = _checked_slots(slots, k, layout, extent, paged)
    _check_memory(q, k, v, k_cache, v_cache)
    tensors = tuple(heads_first(x, layout) for x in (q, k, v, k_cache, v_cache))
    named = kernel is not None and impl == kernel.name
    if kernel is not None and kernel.into_cache is not None:
        if all(x.stride(-1) == 1 for x in tensors[2:]):
            kernel.into_cache(rotation, tensors, slots, paged)
            mark_written(q, k_cache, v_cache)
            return q
        if named:
            raise ValueError(
                f"impl must be one that can write these caches; got {impl!r}, but the channels of a tensor are not "
                "side by side. Use 'auto'."
            )
    rotated, keys = rotate(q, k, rotation, layout=layout, impl=impl if named or impl == "reference" else "auto")
    exists = None if _readable(slots) else (slots >= 0) & (slots < _end(extent, paged))
    for x, cache in ((heads_first(keys, layout), tensors[3]), (tensors[2], tensors[4])):
        if exists is None:
            _put(x, cache, slots, paged)
        else:
            _put_where(exists, x, cache, slots, paged)
    if exists is not None:
        rotated = torch.where(heads_first(exists[:, None, :, None], layout), rotated, float("nan"))
    return q.copy_(rotated)


def _end(extent: tuple[int, int], paged: bool) -> int:
    """The first slot that does not exist."""
    return extent[0] * extent[1] if paged else extent[1]


def _readable(slots: Tensor) -> bool:
    """Whether values of slots are checked: not while tracing, nor on an accelerator."""
    return slots.is_cpu and not torch.compiler.is_compiling()


def _put(x: Tensor, cache: Tensor, slots: Tensor, paged: bool) -> None:
    """Write x, (batch, heads, time, width), at its slots of a cache (batch or pages, heads, length, width)."""
    size = cache.shape[2]
    row = slots // size if paged else torch.arange(x.shape[0], device=x.device)[:, None]
    cache.transpose(1, 2)[row, slots % size if paged else slots] = x.transpose(1, 2)


def _put_where(exists: Tensor, x: Tensor, cache: Tensor, slots: Tensor, paged: bool) -> None:
    """Write as `_put` does, but nothing where no slot exists, without looking at any.

    A token without a slot repeats what the first one that has one writes; if none has, the first slot keeps its number.
    """
    (batch, _, time, _), (rows, _, size, _) = x.shape, cache.shape
    if not batch * time * rows * size:
        return
    exists = exists.expand(batch, time).flatten()
    first_slots = 0 if paged else torch.arange(batch, device=x.device)[:, None] * size
    token = torch.where(exists, torch.arange(batch * time, device=x.device), exists.long().argmax())
    place = torch.where(exists.any(), (slots + first_slots).expand(batch, time).flatten()[token], 0)
    stored, new = cache.transpose(1, 2), x.transpose(1, 2).flatten(0, 1)[token]
    stored[place // size, place % size] = torch.where(exists.any(), new, stored[place // size, place % size])


def _check_values(q: Tensor, k: Tensor, v: Tensor, layout: Layout) -> None:
    plain_tensor("v", v)
    if v.ndim != 4 or v.shape[:3] != k.shape[:3]:
        raise ValueError(
            f"v must have the shape of k, {tuple(k.shape)}, except for its width; got {tuple(v.shape)} ({layout}). "
            "Give the values of these keys."
        )
    if v.dtype != k.dtype or v.device != k.device:
        raise ValueError(
            f"v must have the dtype and device of k, {k.dtype} and {k.device}; got {v.dtype}, {v.device}. Convert it."
        )
    for name, x in (("k", k), ("v", v)):
        require_no_grad(name, x, "for a cache, which records none", "Detach it")


def _check_caches(
    k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor, layout: Layout, paged: bool
) -> tuple[int, int]:
    """Check both caches, and return (rows or pages, tokens in each)."""
    heads, time = (1, 2) if layout == "bhtd" else (2, 1)
    for name, cache, x in (("k_cache", k_cache, k), ("v_cache", v_cache, v)):
        plain_tensor(name, cache)
        if cache.dtype != x.dtype or cache.device != x.device:
            raise ValueError(
                f"{name} must have the dtype and device of what it stores, {x.dtype} and {x.device}; got "
                f"{cache.dtype}, {cache.device}. Convert one of them."
            )
        fits = cache.ndim == 4 and cache.shape[heads] == x.shape[heads] and cache.shape[3] == x.shape[3]
        if not fits or not (paged or cache.shape[0] == x.shape[0]):
            raise ValueError(
                f"{name} must have {'' if paged else 'the batch, '}the heads and the width of {tuple(x.shape)} "
                f"({layout}); got {tuple(cache.shape)}. Give caches for these heads."
            )
    extent = k_cache.shape[0], k_cache.shape[time]
    if (v_cache.shape[0], v_cache.shape[time]) != extent:
        raise ValueError(
            f"v_cache must have the rows and length of k_cache, {extent[0]} × {extent[1]}; got {tuple(v_cache.shape)} "
            f"({layout}). Allocate both alike."
        )
    return extent


def _checked_slots(slots: Any, k: Tensor, layout: Layout, extent: tuple[int, int], paged: bool) -> Tensor:
    """Check slots, and return them as int64 (batch or 1, time); on the CPU they must exist and not repeat."""
    plain_tensor("slots", slots)
    if slots.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"slots must be int64 or int32; got {slots.dtype}. Give indices into the cache.")
    batch, time = k.shape[0], k.shape[2 if layout == "bhtd" else 1]
    if not validation.equals_one_of(tuple(slots.shape), (time,), (1, time), (batch, time)) or slots.device != k.device:
        raise ValueError(
            f"slots must have shape ({time},) or ({batch}, {time}), on {k.device}; got {tuple(slots.shape)} on "
            f"{slots.device}. Give one for each token."
        )
    slots = slots if slots.dtype == torch.int64 else slots.to(torch.int64)
    slots = slots if slots.ndim == 2 else slots[None]
    if not _readable(slots) or not slots.numel():
        return slots
    end = _end(extent, paged)
    rows = slots.tolist()
    least, most = min(map(min, rows)), max(map(max, rows))
    if least < 0 or most >= end:
        raise ValueError(
            f"slots must be from 0 to {end - 1}; got values from {least} to {most}. Make the cache longer."
        )
    if paged:
        rows = [slots.expand(batch, time).flatten().tolist()]
    if any(len(set(row)) < len(row) for row in rows):
        raise ValueError("slots must not repeat; got one twice. Give every token its own slot.")
    return slots


def _check_memory(q: Tensor, k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor) -> None:
    """Refuse tensors that cannot be written, or that share memory with another tensor of the call."""
    for name, x in (("q", q), ("k_cache", k_cache), ("v_cache", v_cache)):
        writable(name, x)
    if torch.compiler.is_compiling():
        return
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        if not all(beyond(cache, x) for x in (q, k, v)):
            raise ValueError(f"{name} must have memory of its own; got that of q, k or v. Allocate it.")
    if not disjoint(k_cache, v_cache):
        raise ValueError("v_cache must have memory of its own; got some of that of k_cache. Allocate it.")
    if not (disjoint(q, k) and disjoint(q, v)):
        raise ValueError(
            "q must not share memory with k or v, since it is rotated in place; got tensors that do. Clone one."
        )
