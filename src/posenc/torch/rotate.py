"""One entry point to turning queries and keys, by whichever kernel there is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import torch

from posenc import _check
from posenc._array import Array
from posenc.kernels import angles as kernel
from posenc.kernels import native
from posenc.torch.turns import Angles
from posenc.turn import LAYOUTS, Layout, Turn

Impl = Literal["auto", "reference", "native", "triton"]
HAS_TRITON = find_spec("triton") is not None
IMPLS = ("auto", "reference", "native", "triton")


@dataclass(frozen=True)
class Choice:
    """What `impl="auto"` takes for some tensors, and why."""

    impl: Literal["reference", "native", "triton"]
    reason: str


def rotate(q: Array, k: Array, turn: Turn | Angles, *, layout: Layout, impl: Impl = "auto") -> tuple[Array, Array]:
    """Queries and keys that share their positions, turned into new memory; autograd, compile, export and vmap see through.

    q: (batch, heads, time, dim) and k: (batch, key heads, time, dim) for layout "bhtd", the middle axes swapped for "bthd";
    float32, bfloat16, float16 (float64 with a float64 turn). turn: of their positions, `record.turn(positions)`, made once
    a step; or `angles(record, positions)`, of which the kernel makes its cosines and sines by itself. Each product is
    formed in float32 at least and rounded once.
    impl: "reference" is `turn(q, layout=layout)`; "native" the compiled kernel of posenc-kernels for the CPU, to the bits of
    the reference; "triton" that for accelerators, to the same bits of a turn, and of angles within 1.2e-7 below 2^34 (NaN
    beyond); ValueError where the one that is named cannot. "auto" is the kernel of the device where it can, else the reference: `chosen` says which and why.
    Raises TypeError or ValueError naming the argument.

    >>> import torch, posenc
    >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
    >>> q, k = rotate(q, k, posenc.RoPE(dim=8).turn(torch.arange(3)), layout="bhtd")
    >>> q.shape, k.shape
    (torch.Size([1, 4, 3, 8]), torch.Size([1, 2, 3, 8]))
    """
    choice = chosen(q, k, turn, layout=layout, impl=impl).impl
    if choice == "reference":
        turn = made(turn, q)
        return turn(q, layout=layout), turn(k, layout=layout)
    first, second = _heads_first(q, layout), _heads_first(k, layout)
    if choice == "triton":
        from posenc.kernels import gpu

        first, second = gpu.into_new(first, second, *triton_waves(turn))
    elif isinstance(turn, Angles):
        first, second = kernel.into_new(first, second, turn.places, turn.rates, turn.steady)
    else:
        first, second = (native.into_new(x, turn) for x in (first, second))
    return _heads_first(first, layout), _heads_first(second, layout)


def rotate_(q: Array, k: Array, turn: Turn | Angles, *, layout: Layout, impl: Impl = "auto") -> tuple[Array, Array]:
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
        turn = made(turn, q)
        return q.copy_(turn(q, layout=layout)), k.copy_(turn(k, layout=layout))
    first, second = _heads_first(q, layout), _heads_first(k, layout)
    if choice.impl == "triton":
        from posenc.kernels import gpu

        gpu.in_place(first, second, *triton_waves(turn))
    elif isinstance(turn, Angles):
        kernel.in_place(first, second, turn.places, turn.rates, turn.steady)
    else:
        native.in_place(turn, first, second)
    return q, k


def chosen(q: Array, k: Array, turn: Turn | Angles, *, layout: Layout, impl: Impl = "auto") -> Choice:
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
    if not isinstance(turn, Turn | Angles):
        raise TypeError(f"turn must be a Turn, record.turn(positions), or angles; got {_check.shown(turn)}. Make one.")
    _alike(q, k, turn, layout)
    if impl == "reference":
        return Choice("reference", "asked for")
    tensors = _heads_first(q, layout), _heads_first(k, layout)
    named: Literal["native", "triton"] = "triton" if impl == "triton" or (impl == "auto" and q.is_cuda) else "native"
    why = _native_refusal(turn, *tensors) if named == "native" else _triton_refusal(turn, *tensors)
    if impl == named and why is not None:
        raise ValueError(f"impl must be one that can turn these tensors; got {impl!r}, but {why}. Use 'auto'.")
    if why is not None:
        return Choice("reference", why)
    return Choice(named, "asked for" if impl == named else f"the {named} kernel can turn these tensors")


def made(turn: Turn | Angles, x: Array) -> Turn:
    """The turn of angles, as precise as what it turns."""
    return (
        turn
        if isinstance(turn, Turn)
        else turn.turn(dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)
    )


def _native_refusal(turn: Turn | Angles, *tensors: Array) -> str | None:
    return kernel.refusal(turn.places, *tensors) if isinstance(turn, Angles) else native.refusal(turn, *tensors)


def triton_waves(turn: Turn | Angles) -> Any:
    """Waves and channels, as the Triton kernel takes them."""
    from posenc.kernels import gpu

    if isinstance(turn, Turn):
        return gpu.of_table(turn)
    how = native.channels(turn.steady)
    return gpu.Waves(places=turn.places, words=turn.words, factor=turn.steady.factor), gpu.Channels(*how)


def _triton_refusal(turn: Turn | Angles, *tensors: Array) -> str | None:
    if not HAS_TRITON:
        return "Triton is not installed"
    from posenc.kernels import gpu  # when it is first wanted: it takes Triton with it

    return gpu.refused(turn.places, *tensors) if isinstance(turn, Angles) else gpu.refusal(turn, *tensors)


def _heads_first(x: Array, layout: Layout) -> Array:
    return x if layout == "bhtd" else x.transpose(1, 2)


def _alike(q: Array, k: Array, turn: Turn | Angles, layout: Layout) -> None:
    """Queries and keys of one batch and length, and a turn of their positions: before any kernel sees them."""
    (rows, places), own, device = _made_for(turn)
    time, heads = layout.index("t"), layout.index("h")
    for name, x in (("q", q), ("k", k)):
        _check.instance(name, x, torch.Tensor, "a PyTorch tensor")
        if x.ndim != 4 or x.shape[-1] != turn.dim:
            raise ValueError(
                f"{name} must have shape {layout!r} with d = {turn.dim}; got {tuple(x.shape)}. Give whole heads, four axes."
            )
        if x.shape[time] != places or rows not in (1, x.shape[0]):
            raise ValueError(
                f"{name} must have the places of the turn, {rows} × {places}; got {tuple(x.shape)} ({layout}). "
                "Make the turn from the positions of these tokens."
            )
        if own not in (None, x.shape[heads]):
            raise ValueError(
                f"{name} must have the {own} heads that turn, each in its own way; got {tuple(x.shape)} ({layout}). "
                "Repeat grouped heads first."
            )
    if q.dtype != k.dtype or q.device != k.device or q.shape[0] != k.shape[0]:
        raise ValueError(
            f"k must have the dtype, device and batch of q; got {k.dtype}, {k.device}, {k.shape[0]} for {q.dtype}, {q.device}, "
            f"{q.shape[0]}. Convert one of them."
        )
    if device != q.device:
        raise ValueError(f"turn must be on the device of q, {q.device}; got {device}. Make it there.")


def _made_for(turn: Turn | Angles) -> tuple[tuple[int, int], int | None, Any]:
    """Rows of positions (1 where one serves every batch row) and places in a row, heads that each turn in their own way, device."""
    if isinstance(turn, Angles):
        return (turn.places.shape[0], turn.places.shape[1]), None, turn.places.device
    plain = turn.cos.ndim - (2 if turn.heads is None else 3)
    return (turn.cos.shape[0] if plain else 1, turn.cos.shape[-2]), turn.heads, turn.cos.device


def _writable(name: str, x: Array) -> None:
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} must need no gradient to be turned in place; got one that does. Use rotate.")
    if not torch.compiler.is_compiling() and torch._debug_has_internal_overlap(x) == 1:
        raise ValueError(
            f"{name} must not overlap itself in memory to be turned in place; got strides {x.stride()}. Clone it, or use rotate."
        )
