"""Rotation in plain PyTorch, where there is no kernel: in blocks that fit the CPU cache; single tokens in few calls.

It applies a `Rotation`, whichever encoding made it, to the bits of the reference, `Rotation.__call__`: the same
products and sums, each rounded by itself. A block is made float32 once, rotated by whole rows, and rounded once into
its place, so memory is passed over once where the reference makes eight passes. Neighbouring channels are multiplied as
complex numbers where this build of PyTorch is known to round such products like any others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from posenc.core.rotation import Pairing, Rotation
from posenc.kernels import native

#: The dtype in which products are formed.
WIDE = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
}
#: Channels of a block for each thread: two copies of them in float32 are two MiB. Smaller ones lose more to calls than
#: they gain in the cache. Fewer channels of single tokens are rotated in one block, in as few calls as possible.
BLOCK = 1 << 18
#: Channels of a block of complex numbers: the most for which PyTorch starts no second thread.
COMPLEX = 1 << 16
#: Complex numbers that a step of PyTorch's loops takes at most; fewer at the end of a row may be rounded otherwise.
STEP = 16


def unsupported_reason(x: Any, rotation: Rotation | None) -> str | None:
    """Why x is left to the reference, None where blocks are better; the rotation is None for angles."""
    if torch.compiler.is_compiling():
        return "a compiler sees through the reference"
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return "a transform of functions sees through the reference"
    if not x.is_cpu:
        return "blocks are for the CPU"
    if rotation is not None and (rotation.cos.requires_grad or rotation.sin.requires_grad):
        return "the rotation is learned"
    if x.dtype not in WIDE or (
        x.dtype == torch.float64 and rotation is not None and rotation.cos.dtype != torch.float64
    ):
        return f"tensors of {x.dtype} have no such rotation".replace("torch.", "")
    return None


def rotate(rotation: Rotation, *tensors: Any) -> tuple[Any, ...]:
    """Rotate tensors, (batch, heads, time, dim), into new memory, with gradients for them."""
    tables, pairing = native.tables(rotation), rotation.pairing
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return tuple(_Rotate.apply(x, *tables, pairing) for x in tensors)
    return _rotate(pairing, *tables, *tensors)


def rotate_in_place(rotation: Rotation, *tensors: Any) -> None:
    """Rotate tensors, (batch, heads, time, dim), in place; no gradient is recorded."""
    _rotate_into(rotation.pairing, *native.tables(rotation), *((x, x) for x in tensors))


class _Rotate(torch.autograd.Function):  # type: ignore[misc]
    """Autograd function of a rotation, which saves cosines and sines alone: backward is the inverse rotation."""

    @staticmethod
    def forward(ctx: Any, x: Any, cosine: Any, sine: Any, pairing: Pairing) -> Any:
        ctx.save_for_backward(cosine, sine)
        ctx.pairing = pairing
        return _rotate(pairing, cosine, sine, x)[0]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        cosine, sine = ctx.saved_tensors
        if torch.is_grad_enabled() and gradient.requires_grad:
            return _Rotate.apply(gradient, cosine, -sine, ctx.pairing), None, None, None
        return _rotate(ctx.pairing, cosine, -sine, gradient)[0], None, None, None


def _rotate(pairing: Pairing, cosine: Any, sine: Any, *tensors: Any) -> tuple[Any, ...]:
    if pairing.width == pairing.dim:
        pairs_of_tensors = [(x, torch.empty_like(x)) for x in tensors]
    else:
        pairs_of_tensors = [(out, out) for out in (x.clone() for x in tensors)]
    _rotate_into(pairing, cosine, sine, *pairs_of_tensors)
    return tuple(out for _, out in pairs_of_tensors)


def _rotate_into(pairing: Pairing, cosine: Any, sine: Any, *pairs_of_tensors: tuple[Any, Any]) -> None:
    """Rotate each x of (x, out) into `out`, which may be x itself, block by block; other channels stay."""
    wide = WIDE[pairs_of_tensors[0][0].dtype]
    if cosine.dtype != wide:
        cosine, sine = cosine.to(wide), sine.to(wide)
    if pairing.width != pairing.dim:
        part = slice(pairing.start, pairing.start + pairing.width)
        pairs_of_tensors = tuple((x[..., part], out[..., part]) for x, out in pairs_of_tensors)
    if all(_is_complex_product(x, out, pairing) for x, out in pairs_of_tensors):
        factor = torch.complex(cosine, sine)
        for x, out in pairs_of_tensors:
            for block in _blocks(COMPLEX, x, out, factor):
                _multiply_complex(*block)
    else:
        tables = _per_channel(cosine, cosine, pairing), _per_channel(-sine, sine, pairing)
        for x, out in pairs_of_tensors:
            for block in _blocks(BLOCK * torch.get_num_threads(), x, out, *tables):
                _multiply(pairing, *block)


def _blocks(size: int, x: Any, out: Any, *tables: Any) -> Iterator[tuple[Any, ...]]:
    """Cut the tensors and tables alike into about `size` channels of x: rows of the batch, or tokens of one."""
    if x.numel() <= size:
        yield (x, out, *tables)
        return
    batch, heads, time, width = x.shape
    rows = max(1, size // (heads * time * width))
    tokens = max(1, size // (heads * width)) if rows == 1 else time
    for row in range(0, batch, rows):
        piece = [_narrow(part, -4, row, rows) for part in (x, out, *tables)]
        for token in range(0, time, tokens):
            yield tuple(_narrow(part, -2, token, tokens) for part in piece)


def _narrow(part: Any, axis: int, first: int, count: int) -> Any:
    """Narrow an axis of `part` to `count` entries from `first` on; unchanged where it broadcasts along that axis."""
    size = 1 if part.ndim < -axis else part.shape[axis]
    return part if size == 1 or size <= count else part.narrow(axis, first, min(count, size - first))


def _multiply(pairing: Pairing, x: Any, out: Any, cosine: Any, sine: Any) -> None:
    """Write into `out` each channel times the cosine, plus the other of its pair times the signed sine."""
    wide = x if x.dtype == cosine.dtype else x.to(cosine.dtype)
    target = out if wide is x else wide
    other = _swap_pairs(wide, pairing).mul_(sine)
    torch.mul(wide, cosine, out=target).add_(other)
    if target is not out:
        out.copy_(target)


def _multiply_complex(x: Any, out: Any, factor: Any) -> None:
    """Write x times `factor` into `out`, with adjacent pairs as complex numbers."""
    if x.dtype == factor.dtype.to_real():
        torch.mul(_as_complex(x), factor, out=_as_complex(out))
    else:
        wide = x.to(factor.dtype.to_real())
        _as_complex(wide).mul_(factor)
        out.copy_(wide)


def _as_complex(x: Any) -> Any:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def _per_channel(first: Any, second: Any, pairing: Pairing) -> Any:
    """Factors (..., width) of all channels from factors (..., pairs) of the first and of the second of each pair."""
    if pairing.layout == "adjacent":
        return torch.stack((first, second), -1).flatten(-2)
    if pairing.blocks == 1:
        return torch.cat((first, second), -1)
    cut = (pairing.blocks, -1)
    return torch.cat((first.unflatten(-1, cut), second.unflatten(-1, cut)), -1).flatten(-2)


def _swap_pairs(x: Any, pairing: Pairing) -> Any:
    """Copy x with the two channels of each pair swapped."""
    if pairing.layout == "adjacent":
        return torch.stack((x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    half = pairing.width // (2 * pairing.blocks)
    if pairing.blocks == 1:
        return x.roll(half, -1)
    return x.unflatten(-1, (pairing.blocks, 2 * half)).roll(half, -1).flatten(-2)


def _is_complex_product(x: Any, out: Any, pairing: Pairing) -> bool:
    """Whether complex products give the bits of the reference: adjacent pairs, whole SIMD steps, one thread."""
    return (
        EXACT
        and pairing.layout == "adjacent"
        and pairing.width % (2 * STEP) == 0
        and x.shape[1] * pairing.width <= COMPLEX
        and _has_even_strides(x)
        and (out is x or _has_even_strides(out))
    )


def _has_even_strides(x: Any) -> bool:
    """Whether neighbours can be viewed as complex numbers."""
    *others, last = x.stride()
    return last == 1 and x.storage_offset() % 2 == 0 and all(stride % 2 == 0 for stride in others)


def _rounds_one_by_one(dtype: Any) -> bool:
    """Whether this build rounds both products of a complex product before it adds them; some fuse one with the sum."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(*shape, STEP, 2, generator=generator, dtype=dtype, device="cpu") for shape in ((32,), ()))
    (a, b), (c, d) = x.unbind(-1), y.unbind(-1)
    product = torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y))
    return bool(torch.equal(product, torch.stack((a * c - b * d, a * d + b * c), -1)))


#: Seen once, with this module: whether neighbours may be multiplied as complex numbers.
EXACT = _rounds_one_by_one(torch.float32) and _rounds_one_by_one(torch.float64)


def fits_token(q: Any, k: Any, rotation: Rotation, heads: int) -> bool:
    """Whether `rotate_token` takes q and k: one token a row, whole heads rotated, few channels; `heads` is an axis."""
    cosine, sine, pairing, shape, of_k = rotation.cos, rotation.sin, rotation.pairing, q.shape, k.shape
    if len(shape) != 4 or len(of_k) != 4 or pairing.blocks != 1 or rotation.heads is not None:
        return False
    rows, dim, dtype, table = shape[0], shape[3], q.dtype, cosine.dtype
    return (
        shape[3 - heads] == of_k[3 - heads] == 1
        and of_k[0] == rows
        and of_k[3] == dim == pairing.dim == pairing.width
        and rows * (shape[heads] + of_k[heads]) * dim <= BLOCK
        and k.dtype == dtype
        and sine.dtype == table == torch.float32 == WIDE.get(dtype)
        and sine.shape == cosine.shape
        and cosine.shape in ((1, dim // 2), (1, 1, dim // 2), (rows, 1, dim // 2))
        and k.is_cpu
        and cosine.is_cpu
        and sine.is_cpu
    )


def rotate_token(q: Any, k: Any, rotation: Rotation, heads: int) -> tuple[Any, Any]:
    """Rotate q and k that `fits_token` into new memory, for a batch of one into views of one tensor."""
    narrow = NARROW.get(q.dtype)
    if narrow is None and q.shape[0] > 1:
        return _rotate_wide(q, rotation, heads, torch.mul), _rotate_wide(k, rotation, heads, torch.mul)
    joined, counts = torch.cat((q, k), heads), (q.shape[heads], k.shape[heads])
    wide = _rotate_wide(joined if narrow is None else joined.float(), rotation, heads)
    if narrow is None or q.shape[0] == 1:
        return (wide if narrow is None else narrow(wide)).split_with_sizes(counts, heads)  # type: ignore[no-any-return]
    first, second = wide.split_with_sizes(counts, heads)
    return narrow(first), narrow(second)


def rotate_token_in_place(q: Any, k: Any, rotation: Rotation, heads: int) -> None:
    """Rotate q and k in place; `fits_token` must hold, and they must share no memory."""
    if q.dtype == torch.float32:
        _rotate_wide(q, rotation, heads)
        _rotate_wide(k, rotation, heads)
        return
    for x, result in zip((q, k), rotate_token(q, k, rotation, heads), strict=True):
        x.copy_(result)


#: How tensors of 16 bits are made of float32.
NARROW = {torch.bfloat16: torch.Tensor.bfloat16, torch.float16: torch.Tensor.half}


def _rotate_wide(x: Any, rotation: Rotation, heads: int, times: Any = torch.Tensor.mul_) -> Any:
    """Rotate single tokens of float32 in place, or into new memory where `times` is torch.mul."""
    rows, count, width = x.shape[0], x.shape[heads], x.shape[3]
    if rotation.pairing.layout == "halves":
        pairs, axis = x.view(rows, count, 2, width // 2), 2
        # A single row is broadcast as it is.
        expand = rotation.cos.ndim == 3 and rows > 1
        cosine, sine = (part.unsqueeze(1) if expand else part for part in (rotation.cos, rotation.sin))
    else:
        pairs, axis = x.view(rows, count, width // 2, 2), 3
        cosine, sine = rotation.cos.unsqueeze(-1), rotation.sin.unsqueeze(-1)
    crossed = pairs * sine
    result = times(pairs, cosine)
    (first, second), (of_first, of_second) = result.unbind(axis), crossed.unbind(axis)
    first.sub_(of_second)
    second.add_(of_first)
    return result.view(x.shape)
