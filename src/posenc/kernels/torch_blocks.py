"""Turning in plain PyTorch, for where no kernel is: in blocks that stay in the cache.

It applies a `Turn`, whichever record made it, to the bits of the reference, `Turn.__call__`: the same products and sums,
each rounded by itself. A block is made float32 once, turned by whole rows, and rounded once into its place, so memory is
passed over once where the reference makes eight passes. Neighbouring channels are multiplied as complex numbers where this
build of PyTorch is known to round such products like any others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from posenc.turn import Pairing, Turn

#: The dtype in which products are formed.
WIDE = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
}
#: Channels of a block for each thread: two copies of them in float32 are two MiB. Smaller ones lose more to calls than
#: they gain in the cache.
BLOCK = 1 << 18
#: Channels of a block of complex numbers: the most for which PyTorch starts no second thread.
COMPLEX = 1 << 16
#: Complex numbers that a step of PyTorch's loops takes at most; fewer at the end of a row may be rounded otherwise.
STEP = 16


def refusal(x: Any, turn: Turn | None) -> str | None:
    """Why x, or what is like it, is left to the reference; None where blocks are better. turn: None of angles."""
    if torch.compiler.is_compiling():
        return "a compiler sees through the reference"
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return "a transform of functions sees through the reference"
    if not x.is_cpu:
        return "blocks are for the CPU"
    if turn is not None and (turn.cos.requires_grad or turn.sin.requires_grad):
        return "the turn is learned"
    if x.dtype not in WIDE or (x.dtype == torch.float64 and turn is not None and turn.cos.dtype != torch.float64):
        return f"tensors of {x.dtype} have no such turn".replace("torch.", "")
    return None


def into_new(turn: Turn, *tensors: Any) -> tuple[Any, ...]:
    """Tensors, (batch, heads, time, dim), turned into new memory; with gradients for them."""
    table, pairing = _table(turn), turn.pairing
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return tuple(_Turned.apply(x, *table, pairing) for x in tensors)
    if _one_token(turn, tensors[0]):
        joined = torch.cat(tensors, 1)
        _turn(pairing, *table, (joined, joined))
        parts: tuple[Any, ...] = joined.split_with_sizes([x.shape[1] for x in tensors], 1)
        return parts
    return _new(pairing, *table, *tensors)


def in_place(turn: Turn, *tensors: Any) -> None:
    """Tensors, (batch, heads, time, dim), turned where they are; no gradient is recorded."""
    if _one_token(turn, tensors[0]):
        for x, turned in zip(tensors, into_new(turn, *tensors), strict=True):
            x.copy_(turned)
    else:
        _turn(turn.pairing, *_table(turn), *((x, x) for x in tensors))


def _one_token(turn: Turn, x: Any) -> bool:
    """Whether there is so little that calls are what costs, and fewer of them for all heads together."""
    shape = x.shape
    return turn.heads is None and shape[0] == shape[2] == 1


class _Turned(torch.autograd.Function):  # type: ignore[misc]
    """Nothing is kept for the gradient but the table: the transpose of a turn is the turn the other way."""

    @staticmethod
    def forward(ctx: Any, x: Any, cosine: Any, sine: Any, pairing: Pairing) -> Any:
        ctx.save_for_backward(cosine, sine)
        ctx.pairing = pairing
        return _new(pairing, cosine, sine, x)[0]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        cosine, sine = ctx.saved_tensors
        if torch.is_grad_enabled() and gradient.requires_grad:
            return _Turned.apply(gradient, cosine, -sine, ctx.pairing), None, None, None
        return _new(ctx.pairing, cosine, -sine, gradient)[0], None, None, None


def _table(turn: Turn) -> tuple[Any, Any]:
    """Cosines and sines that fit (batch, heads, time, pairs)."""
    if turn.heads is None and turn.cos.ndim == 3:
        return turn.cos.unsqueeze(1), turn.sin.unsqueeze(1)
    return turn.cos, turn.sin


def _new(pairing: Pairing, cosine: Any, sine: Any, *tensors: Any) -> tuple[Any, ...]:
    if pairing.width == pairing.dim:
        places = [(x, torch.empty_like(x)) for x in tensors]
    else:
        places = [(out, out) for out in (x.clone() for x in tensors)]
    _turn(pairing, cosine, sine, *places)
    return tuple(out for _, out in places)


def _turn(pairing: Pairing, cosine: Any, sine: Any, *places: tuple[Any, Any]) -> None:
    """For each (x, out): x turned into `out`, which may be x itself, block by block; other channels are not touched."""
    wide = WIDE[places[0][0].dtype]
    if cosine.dtype != wide:
        cosine, sine = cosine.to(wide), sine.to(wide)
    if pairing.width != pairing.dim:
        part = slice(pairing.start, pairing.start + pairing.width)
        places = tuple((x[..., part], out[..., part]) for x, out in places)
    if all(_multiplies(x, out, pairing) for x, out in places):
        factor = torch.complex(cosine, sine)
        for x, out in places:
            for block in _blocks(COMPLEX, x, out, factor):
                _multiplied(*block)
    else:
        tables = _doubled(cosine, cosine, pairing), _doubled(-sine, sine, pairing)
        for x, out in places:
            for block in _blocks(BLOCK * torch.get_num_threads(), x, out, *tables):
                _crossed(pairing, *block)


def _blocks(size: int, x: Any, out: Any, *tables: Any) -> Iterator[tuple[Any, ...]]:
    """The tensors and tables cut alike, into about `size` channels of x: whole rows of the batch, or some tokens of one."""
    if x.numel() <= size:
        yield (x, out, *tables)
        return
    batch, heads, time, width = x.shape
    rows = max(1, size // (heads * time * width))
    tokens = max(1, size // (heads * width)) if rows == 1 else time
    for row in range(0, batch, rows):
        piece = [_places(part, -4, row, rows) for part in (x, out, *tables)]
        for token in range(0, time, tokens):
            yield tuple(_places(part, -2, token, tokens) for part in piece)


def _places(part: Any, axis: int, first: int, count: int) -> Any:
    """So many places of an axis from the first on; what has the axis not, or one place there, serves all."""
    size = 1 if part.ndim < -axis else part.shape[axis]
    return part if size == 1 or size <= count else part.narrow(axis, first, min(count, size - first))


def _crossed(pairing: Pairing, x: Any, out: Any, cosine: Any, sine: Any) -> None:
    """Each channel times the cosine, plus the other of its pair times the signed sine."""
    wide = x if x.dtype == cosine.dtype else x.to(cosine.dtype)
    target = out if wide is x else wide
    other = _swapped(wide, pairing).mul_(sine)
    torch.mul(wide, cosine, out=target).add_(other)
    if target is not out:
        out.copy_(target)


def _multiplied(x: Any, out: Any, factor: Any) -> None:
    """Pairs of neighbours as complex numbers."""
    if x.dtype == factor.dtype.to_real():
        torch.mul(_complex(x), factor, out=_complex(out))
    else:
        wide = x.to(factor.dtype.to_real())
        _complex(wide).mul_(factor)
        out.copy_(wide)


def _complex(x: Any) -> Any:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def _doubled(first: Any, second: Any, pairing: Pairing) -> Any:
    """A table of pairs as one of channels: what the first and what the second of each pair is multiplied by."""
    if pairing.layout == "adjacent":
        return torch.stack((first, second), -1).flatten(-2)
    if pairing.blocks == 1:
        return torch.cat((first, second), -1)
    cut = (pairing.blocks, -1)
    return torch.cat((first.unflatten(-1, cut), second.unflatten(-1, cut)), -1).flatten(-2)


def _swapped(x: Any, pairing: Pairing) -> Any:
    """New memory in which the channels of each pair have changed places."""
    if pairing.layout == "adjacent":
        return torch.stack((x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    half = pairing.width // (2 * pairing.blocks)
    if pairing.blocks == 1:
        return x.roll(half, -1)
    return x.unflatten(-1, (pairing.blocks, 2 * half)).roll(half, -1).flatten(-2)


def _multiplies(x: Any, out: Any, pairing: Pairing) -> bool:
    """Whether complex products have the bits of the reference: of whole steps, and in one thread, which cuts no step."""
    return (
        EXACT
        and pairing.layout == "adjacent"
        and pairing.width % (2 * STEP) == 0
        and x.shape[1] * pairing.width <= COMPLEX
        and _even(x)
        and (out is x or _even(out))
    )


def _even(x: Any) -> bool:
    """Whether neighbours can be viewed as complex numbers."""
    *others, last = x.stride()
    return last == 1 and x.storage_offset() % 2 == 0 and all(stride % 2 == 0 for stride in others)


def _rounds_one_by_one(dtype: Any) -> bool:
    """Whether this build rounds both products of a complex product before it adds them; some fuse one with the sum."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(*shape, STEP, 2, generator=generator, dtype=dtype, device="cpu") for shape in ((32,), ()))
    (a, b), (c, d) = x.unbind(-1), y.unbind(-1)
    found = torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y))
    return bool(torch.equal(found, torch.stack((a * c - b * d, a * d + b * c), -1)))


#: Seen once, with this module: whether neighbours may be multiplied as complex numbers.
EXACT = _rounds_one_by_one(torch.float32) and _rounds_one_by_one(torch.float64)
