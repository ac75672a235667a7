"""One entry point to turning queries and keys, by whichever kernel there is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import torch

from posenc import _check
from posenc._array import Array
from posenc.kernels import native
from posenc.turn import LAYOUTS, Layout, Turn

Impl = Literal["auto", "reference", "native", "triton"]
IMPLS = ("auto", "reference", "native", "triton")


@dataclass(frozen=True)
class Choice:
    """What `impl="auto"` takes for some tensors, and why."""

    impl: Literal["reference", "native", "triton"]
    reason: str


def rotate(q: Array, k: Array, turn: Turn, *, layout: Layout, impl: Impl = "auto") -> tuple[Array, Array]:
    """Queries and keys that share their positions, turned into new memory; autograd, compile, export and vmap see through.

    q: (batch, heads, time, dim) and k: (batch, key heads, time, dim) for layout "bhtd", the middle axes swapped for "bthd";
    float32, bfloat16, float16 (float64 with a float64 turn). turn: of their positions, `record.turn(positions)`, made once
    a step. Each product is formed in float32 at least and rounded once.
    impl: "reference" is `turn(q, layout=layout)`; "native" the compiled kernel of posenc-kernels for the CPU, to the bits of
    the reference; "triton" that for accelerators, good to a unit of float32 before the rounding; ValueError where the one
    that is named cannot. "auto" is the kernel of the device where it can, else the reference: `chosen` says which and why.
    Raises TypeError or ValueError naming the argument.

    >>> import torch, posenc
    >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
    >>> q, k = rotate(q, k, posenc.RoPE(dim=8).turn(torch.arange(3)), layout="bhtd")
    >>> q.shape, k.shape
    (torch.Size([1, 4, 3, 8]), torch.Size([1, 2, 3, 8]))
    """
    choice = chosen(q, k, turn, layout=layout, impl=impl).impl
    if choice == "reference":
        return turn(q, layout=layout), turn(k, layout=layout)
    first, second = _heads_first(q, layout), _heads_first(k, layout)
    if choice == "triton":
        first, second = _triton().into_new(first, second, *_triton().of_table(turn))
    else:
        first, second = (native.into_new(x, turn) for x in (first, second))
    return _heads_first(first, layout), _heads_first(second, layout)


def rotate_(q: Array, k: Array, turn: Turn, *, layout: Layout, impl: Impl = "auto") -> tuple[Array, Array]:
    """`rotate`, in place: q and k themselves are turned, and returned. Nothing is allocated by the kernel.

    Tensors that need a gradient, overlap themselves (`expand`) or are one and the same are refused: use `rotate`.

    >>> import torch, posenc
    >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
    >>> turned, _ = rotate_(q, k, posenc.RoPE(dim=8).turn(torch.arange(3)), layout="bhtd")
    >>> turned is q
    True
    """
    choice = chosen(q, k, turn, layout=layout, impl=impl)
    for name, x in (("q", q), ("k", k)):
        _writable(name, x)
    if not torch.compiler.is_compiling() and q.numel() and q.data_ptr() == k.data_ptr():
        raise ValueError(
            "k must be another tensor than q; got the same memory, which would be turned twice. Clone one."
        )
    if choice.impl == "reference":
        return q.copy_(turn(q, layout=layout)), k.copy_(turn(k, layout=layout))
    first, second = _heads_first(q, layout), _heads_first(k, layout)
    if choice.impl == "triton":
        _triton().in_place(first, second, *_triton().of_table(turn))
    else:
        native.in_place(turn, first, second)
    return q, k


def chosen(q: Array, k: Array, turn: Turn, *, layout: Layout, impl: Impl = "auto") -> Choice:
    """Which implementation `rotate` and `rotate_` take for these arguments, and why; an impl that is named and cannot is
    a ValueError.

    >>> import torch, posenc
    >>> q, k = torch.ones(1, 4, 3, 8, dtype=torch.float64), torch.ones(1, 2, 3, 8, dtype=torch.float64)
    >>> turn = posenc.RoPE(dim=8).turn(torch.arange(3), dtype=torch.float64)
    >>> chosen(q, k, turn, layout="bhtd", impl="reference")
    Choice(impl='reference', reason='asked for')
    """
    _check.choice("impl", impl, IMPLS)
    _check.choice("layout", layout, LAYOUTS)
    _check.instance("turn", turn, Turn, "a Turn, record.turn(positions)")
    _alike(q, k, turn, layout)
    if impl == "reference":
        return Choice("reference", "asked for")
    tensors = _heads_first(q, layout), _heads_first(k, layout)
    kernel: Literal["native", "triton"] = "triton" if impl == "triton" or (impl == "auto" and q.is_cuda) else "native"
    why = native.refusal(turn, *tensors) if kernel == "native" else _triton_refusal(turn, *tensors)
    if impl == kernel and why is not None:
        raise ValueError(f"impl must be one that can turn these tensors; got {impl!r}, but {why}. Use 'auto'.")
    if why is not None:
        return Choice("reference", why)
    return Choice(kernel, "asked for" if impl == kernel else f"the {kernel} kernel can turn these tensors")


def _triton() -> Any:
    return import_module("posenc.kernels.gpu")


def _triton_refusal(turn: Turn, *tensors: Array) -> str | None:
    if find_spec("triton") is None:
        return "Triton is not installed"
    why: str | None = _triton().refusal(turn, *tensors)
    return why


def _heads_first(x: Array, layout: Layout) -> Array:
    return x if layout == "bhtd" else x.transpose(1, 2)


def _alike(q: Array, k: Array, turn: Turn, layout: Layout) -> None:
    """Queries and keys of one batch and length, and a turn of their positions: before any kernel sees them."""
    time, heads = layout.index("t"), layout.index("h")
    for name, x in (("q", q), ("k", k)):
        _check.instance(name, x, torch.Tensor, "a PyTorch tensor")
        if x.ndim != 4 or x.shape[-1] != turn.dim:
            raise ValueError(
                f"{name} must have shape {layout!r} with d = {turn.dim}; got {tuple(x.shape)}. Give whole heads, four axes."
            )
        if x.shape[time] != turn.cos.shape[-2] or (_batches(turn) not in (1, x.shape[0])):
            raise ValueError(
                f"{name} must have the places of the turn, {tuple(turn.cos.shape[:-1])}; got {tuple(x.shape)} ({layout}). "
                "Make the turn from the positions of these tokens."
            )
        if turn.heads not in (None, x.shape[heads]):
            raise ValueError(
                f"{name} must have the {turn.heads} heads that turn, each in its own way; got {tuple(x.shape)} ({layout}). "
                "Repeat grouped heads first."
            )
    if q.dtype != k.dtype or q.device != k.device or q.shape[0] != k.shape[0]:
        raise ValueError(
            f"k must have the dtype, device and batch of q; got {k.dtype}, {k.device}, {k.shape[0]} for {q.dtype}, {q.device}, "
            f"{q.shape[0]}. Convert one of them."
        )
    if turn.cos.device != q.device:
        raise ValueError(f"turn must be on the device of q, {q.device}; got {turn.cos.device}. Make it there.")


def _batches(turn: Turn) -> int:
    """Rows of positions that the turn was made from: 1 where one row serves every batch row."""
    plain = turn.cos.ndim - (2 if turn.heads is None else 3)
    return int(turn.cos.shape[0]) if plain else 1


def _writable(name: str, x: Array) -> None:
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} must need no gradient to be turned in place; got one that does. Use rotate.")
    if not torch.compiler.is_compiling() and torch._debug_has_internal_overlap(x) == 1:
        raise ValueError(
            f"{name} must not overlap itself in memory to be turned in place; got strides {x.stride()}. Clone it, or use rotate."
        )
