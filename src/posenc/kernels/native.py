"""The compiled CPU kernel: rotates queries and keys in one pass, in place or into new memory.

It applies a `Rotation`, whichever encoding made it. Products and sums are rounded one by one, so it gives the bits of
the reference, `Rotation.__call__`. The library is that of the distribution posenc-kernels (`native/` in the
repository).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch.autograd import forward_ad

from posenc.core.rotation import Pairing, Rotation
from posenc.phase import FixedFrequencies

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
#: Operators that a library of another version may lack.
NEWEST = ("rotate_one", "rotate_untraced", "cos_sin", "rotate_by_angles", "rotate_into_cache_", "scaled_embedding")

#: Bits 0, 1 and 2 of a packed form: pairs are neighbours, time comes before heads, the cache is paged.
PACKED_LAYOUTS = {"bhtd": 0, "bthd": 2}
PAGED = 4
#: From bit 3 on 12 bits each: dim, start, pairs, blocks, and the heads of the tables, 0 where all heads share one.
#: Pairs begin at bit 27: the width, twice as many, is shifted by 26.
LIMIT = 1 << 12

#: Registers the shapes and dtypes of results for tracers. PyTorch's `register_fake` would read the source of each such
#: function, and search all imported modules for its own, which takes longer than opening the library.
LIBRARY = torch.library.Library("posenc", "IMPL")


def unsupported_reason(rotation: Rotation, *tensors: Any) -> str | None:
    """Why the kernel cannot rotate these tensors, (batch, heads, time, dim); None where it can."""
    if MISSING is not None:
        return MISSING
    if rotation.cos.dtype != torch.float32 or not rotation.cos.is_cpu:
        return "the rotation is not float32 on the CPU"
    if rotation.cos.requires_grad or rotation.sin.requires_grad:
        return "the rotation is learned, and the kernel gives it no gradient"
    return unsupported_tensors(rotation.cos, *tensors)


def unsupported_tensors(table: Any, *tensors: Any) -> str | None:
    """Why the kernel cannot take these tensors together with this table or these positions; None where it can."""
    for x in (table, *tensors):
        if not x.is_cpu:
            return f"a tensor is on {x.device.type}"
    # No tensor has a forward derivative outside a level of forward mode, and asking each takes time.
    compiling = torch.compiler.is_compiling()
    forward = not compiling and forward_ad._current_level >= 0
    for x in tensors:
        if x.dtype not in DTYPES:
            return f"a tensor is {x.dtype}".replace("torch.", "")
        if forward and forward_ad.unpack_dual(x).tangent is not None:
            return "a tensor has a forward derivative, which the kernel does not compute"
        if x.stride(-1) != 1:
            return "the channels of a tensor are not contiguous"
        if not compiling and (x.is_neg() or x._is_zerotensor()):
            return "a tensor is a negated view, or zeros without memory"
    return None


def tables(rotation: Rotation) -> tuple[Any, Any]:
    """Cosines and sines as (batch or 1, heads or 1, time, pairs), both with the same strides."""
    alike = rotation.cos.stride() == rotation.sin.stride()
    if rotation.cos.ndim == 2 and alike and rotation.cos.stride(-1) == 1:
        return rotation.cos.unsqueeze(0).unsqueeze(0), rotation.sin.unsqueeze(0).unsqueeze(0)
    parts = []
    for part in (rotation.cos, rotation.sin):
        if rotation.heads is None:
            part = part.unsqueeze(-3)  # several times as fast as an index
        part = part if part.ndim == 4 else part.unsqueeze(0)
        # `contiguous` leaves the stride of an axis of one as it is.
        parts.append(part if alike and part.stride(-1) == 1 else part.clone(memory_format=torch.contiguous_format))
    return parts[0], parts[1]


def rotate(x: Any, rotation: Rotation, *, inverse: bool = False, instruction_set: str = "") -> Any:
    """Rotate x, (batch, heads, time, dim), into new memory; with a gradient for x.

    Args:
        x: The tensor.
        rotation: The rotation.
        inverse: Whether it is rotated back.
        instruction_set: One of `instruction_sets()`, for tests; the best for "".

    Returns:
        The rotated tensor.
    """
    return torch.ops.posenc.rotate_one(x, *tables(rotation), *channels(rotation), inverse, instruction_set)


def rotate_in_place(rotation: Rotation, *tensors: Any) -> None:
    """Rotate tensors, (batch, heads, time, dim), in place; no gradient is recorded."""
    for x in tensors:
        torch.ops.posenc.rotate_one_(x, *tables(rotation), *channels(rotation), False)


def rotate_into_cache(
    rotation: Rotation, q: Any, k: Any, v: Any, k_cache: Any, v_cache: Any, slots: Any, paged: bool
) -> None:
    """Rotate q in place, rotate k into its cache and copy v into its own; no gradient is recorded.

    Args:
        rotation: The rotation.
        q: (batch, heads, time, dim).
        k: (batch, key heads, time, dim).
        v: (batch, key heads, time, width).
        k_cache: (batch, key heads, length, dim), or, paged, (pages, key heads, page, dim).
        v_cache: Likewise, in the width of v.
        slots: (batch or 1, time), each token's index in its row of the caches, or, paged, page times size plus index in
            the page.
        paged: Whether caches are paged.
    """
    tensors = q, k, v, *tables(rotation), k_cache, v_cache, slots
    torch.ops.posenc.rotate_into_cache_(*tensors, paged, *channels(rotation))


def instruction_sets() -> tuple[str, ...]:
    """Instruction sets of this processor among "avx512bf16", "avx512", "avx2" and "baseline"; the first is used."""
    return tuple(torch.ops.posenc.instruction_sets())


def channels(rotation: Rotation | FixedFrequencies) -> tuple[int, int, bool]:
    """Return (first rotated channel, number of blocks, whether pairs are adjacent), as operators take them."""
    pairing = rotation.pairing
    return pairing.start, pairing.blocks, pairing.layout == "adjacent"


def packed_form(pairing: Pairing, heads: int | None = None) -> int:
    """Pack a pairing into one integer, to which the bits of a layout are added, for the single-call path.

    Passing its parts one by one takes longer than rotating a token. -1, which no operator takes, where one needs more.
    """
    dim = pairing.dim
    if dim >= LIMIT or heads == 0:
        return -1
    form = (pairing.layout == "adjacent") | dim << 3 | pairing.start << 15 | pairing.width << 26 | pairing.blocks << 39
    return form if heads is None else form | heads << 51


def operator(name: str) -> Any:
    """Return an operator as C++ calls it, without PyTorch's overhead in Python; None where there is no kernel."""
    return getattr(torch.ops.posenc, name).default._op if MISSING is None else None


def with_contiguous_channels(gradient: Any) -> Any:
    """Return a gradient the kernel can read: a copy where its strides do not fit, such as 0 for that of a sum."""
    fits = gradient.stride(-1) == 1 and 0 not in gradient.stride()
    return gradient if fits else gradient.clone(memory_format=torch.contiguous_format)


def _fake(x: Any, *_: Any) -> Any:
    return torch.empty_like(x)


def empty_pair(q: Any, k: Any, *_: Any) -> tuple[Any, Any]:
    """Tell tracers the shapes that an operator returns: empty tensors like q and k."""
    return torch.empty_like(q), torch.empty_like(k)


def no_result(*_: Any) -> None:
    """Tell tracers that an operator returns nothing, since it writes into its arguments."""


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, cosine, sine, *ctx.channels, ctx.inverse, ctx.instruction_set = inputs
    ctx.save_for_backward(cosine, sine)


def _backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Rotate the gradient back: the transpose is the inverse rotation with the same factor."""
    how = *ctx.saved_tensors, *ctx.channels, not ctx.inverse, ctx.instruction_set
    return torch.ops.posenc.rotate_one(with_contiguous_channels(gradient), *how), *[None] * len(how)


def _vmap(info: Any, dims: tuple[Any, ...], x: Any, cosine: Any, sine: Any, *rest: Any) -> tuple[Any, int]:
    """Fold the axis that vmap maps into the batch, rotate, and unfold it."""
    size, batch = info.batch_size, unmapped_batch(x, dims[0])
    x = with_mapped_axis(x, dims[0], size).contiguous()
    cosine, sine = with_mapped_axis(cosine, dims[1], size, batch), with_mapped_axis(sine, dims[2], size, batch)
    return torch.ops.posenc.rotate_one(x, cosine, sine, *rest).unflatten(0, (size, batch)), 0


def unmapped_batch(x: Any, dim: int | None) -> int:
    """Batch size of x without the axis that vmap maps, if it maps one."""
    return int(x.shape[1 if dim == 0 else 0])


def with_mapped_axis(x: Any, dim: int | None, size: int, batch: int | None = None) -> Any:
    """Fold the mapped axis of x, or `size` copies of x, into its batch, expanded to `batch` first if that is given."""
    x = x.movedim(dim, 0) if dim is not None else x.expand(size, *x.shape)
    return (x if batch is None else x.expand(size, batch, *x.shape[2:])).flatten(0, 1)


def _open() -> str | None:
    """Open the library; say why not, where that failed."""
    if find_spec("posenc_kernels") is None:
        return "posenc-kernels is not installed"
    import posenc_kernels

    try:
        torch.ops.load_library(str(posenc_kernels.library()))
    except OSError as error:
        return f"posenc-kernels cannot be opened ({' '.join(str(error.__cause__ or error).split())[:200]})"
    if not all(hasattr(torch.ops.posenc, name) for name in NEWEST):
        return "posenc-kernels and posenc are of different versions; install both of one version"
    return None


#: Why there is no kernel; None where there is one. Opened with this module, as any extension is, and not while tracing.
MISSING = _open()


def declare(name: str, fake: Any, backward: Any = None, setup_context: Any = None, vmap: Any = None) -> None:
    """Tell PyTorch's tracers what an operator of the kernel returns, and autograd and vmap what they do with it."""
    if MISSING is not None:
        return
    LIBRARY.impl(name, fake, "Meta")
    if backward is not None:
        torch.library.register_autograd(f"posenc::{name}", backward, setup_context=setup_context)
    if vmap is not None:
        torch.library.register_vmap(f"posenc::{name}", vmap)


declare("rotate_one", _fake, _backward, _setup_context, _vmap)
