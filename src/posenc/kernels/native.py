"""The compiled kernel: one pass over queries and keys together, in place or into new memory.

It applies a `Turn`, whichever record made it. Products and sums are rounded one by one, so it gives the bits of the
reference, `Turn.__call__`. The library is that of the distribution posenc-kernels (`native/` in the repository).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch.autograd import forward_ad

from posenc import _array
from posenc.phase import Steady
from posenc.turn import Turn

KINDS = (torch.float32, torch.bfloat16, torch.float16)


#: Operators that a library of another version may lack.
NEWEST = (
    "turn_one_at",
    "turn_pair_by_angles",
    "turn_into_cache_",
    "turn_pair_into",
    "embedded_at",
    "rotate_",
    "waves_within",
)


#: Says what operators give where there are no numbers. PyTorch's `register_fake` would read the source of each such function,
#: and look for its module among all that are imported, which takes longer than to open the library.
LIBRARY = torch.library.Library("posenc", "IMPL")


def refusal(turn: Turn, *tensors: Any) -> str | None:
    """Why the kernel cannot turn these tensors, (batch, heads, time, dim); None where it can."""
    if MISSING is not None:
        return MISSING
    if turn.cos.dtype != torch.float32 or not turn.cos.is_cpu:
        return "the turn is not float32 on the CPU"
    if turn.cos.requires_grad or turn.sin.requires_grad:
        return "the turn is learned, and the kernel gives it no gradient"
    return refused(turn.cos, *tensors)


def refused(table: Any, *tensors: Any) -> str | None:
    """Why the kernel cannot take these tensors beside this table, or these places."""
    for x in (table, *tensors):
        if not x.is_cpu:
            return f"a tensor is on {x.device.type}"
    # Outside of every level of forward differentiation no tensor carries a derivative, and asking each takes its time.
    forward = not torch.compiler.is_compiling() and forward_ad._current_level >= 0
    for x in tensors:
        if x.dtype not in KINDS:
            return f"a tensor is {x.dtype}".replace("torch.", "")
        if forward and forward_ad.unpack_dual(x).tangent is not None:
            return "a tensor carries a derivative forward, which the kernel does not"
        if x.stride(-1) != 1:
            return "the channels of a tensor are not side by side"
    return None


def table(turn: Turn) -> tuple[Any, Any]:
    """Cosines and sines as (batch or 1, heads or 1, time, pairs)."""
    if turn.cos.ndim == 2 and turn.cos.stride(-1) == turn.sin.stride(-1) == 1:
        return turn.cos.unsqueeze(0).unsqueeze(0), turn.sin.unsqueeze(0).unsqueeze(0)
    parts = []
    for part in (turn.cos, turn.sin):
        if turn.heads is None:
            part = part.unsqueeze(-3)  # several times as fast as an index
        part = part if part.ndim == 4 else part.unsqueeze(0)
        parts.append(part if part.stride(-1) == 1 else part.contiguous())
    return parts[0], parts[1]


def into_new(x: Any, turn: Turn) -> Any:
    """x, (batch, heads, time, dim), turned into new memory; with a gradient for x."""
    return torch.ops.posenc.turn_one(x, *table(turn), *channels(turn), False)


def pair_into_new(q: Any, k: Any, turn: Turn) -> tuple[Any, Any]:
    """q and k, (batch, heads, time, dim), turned into new memory; with gradients for both."""
    if watched(q, k, turn.cos):
        return into_new(q, turn), into_new(k, turn)
    made = torch.empty_like(q), torch.empty_like(k)
    torch.ops.posenc.turn_pair_into(q, k, *made, *table(turn), *channels(turn), False)
    return made


def watched(*tensors: Any) -> bool:
    """Whether autograd, a tracer or a transform follows these tensors. Where none does, operators write into what they are
    given: those that return what they made go by way of Python, which costs as much as turning one token."""
    if torch.compiler.is_compiling():
        return True
    recorded = torch.is_grad_enabled()
    return any(not _array.concrete(x) or (recorded and x.requires_grad) for x in tensors)


def in_place(turn: Turn, *tensors: Any) -> None:
    """One or two tensors, (batch, heads, time, dim), turned where they are; no gradient is recorded."""
    turn_ = torch.ops.posenc.turn_pair_ if len(tensors) == 2 else torch.ops.posenc.turn_one_
    turn_(*tensors, *table(turn), *channels(turn), False)


def into_cache(turn: Turn, q: Any, k: Any, v: Any, k_cache: Any, v_cache: Any, slots: Any, paged: bool) -> None:
    """q turned where it is, k turned into its cache and v copied into its own; no gradient is recorded.

    q, k, v: (batch, heads, time, dim); slots: (batch or 1, time), each token's place in its row of caches (batch, heads,
    length, dim), or, paged, in caches (pages, heads, page, dim): page times size plus place in it.
    """
    torch.ops.posenc.turn_into_cache_(q, k, v, *table(turn), k_cache, v_cache, slots, paged, *channels(turn))


def levels() -> tuple[str, ...]:
    """The levels of vectors that this processor has, of "avx512", "avx2" and "baseline"; the first is used."""
    return tuple(torch.ops.posenc.levels())


def into_new_at(level: str, x: Any, turn: Turn, *, inverse: bool = False) -> Any:
    """`into_new` at a level that is named, for tests."""
    return torch.ops.posenc.turn_one_at(x, *table(turn), *channels(turn), inverse, level)


def channels(turn: Turn | Steady) -> tuple[int, int, bool]:
    """First channel, number of blocks, and whether pairs are neighbours: as operators take them."""
    pairing = turn.pairing
    return pairing.start, pairing.blocks, pairing.layout == "adjacent"


def operator(name: str) -> Any:
    """One of its operators as C++ calls it, without what Python adds to a call; None where there is no kernel."""
    return getattr(torch.ops.posenc, name).default._op if MISSING is None else None


def _like(x: Any, *_: Any) -> Any:
    return torch.empty_like(x)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, cosine, sine, *ctx.channels, ctx.inverse = inputs
    ctx.save_for_backward(cosine, sine)


def _backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """The transpose of a turn is the turn the other way, its factor kept."""
    cosine, sine = ctx.saved_tensors
    back = torch.ops.posenc.turn_one(side_by_side(gradient), cosine, sine, *ctx.channels, not ctx.inverse)
    return back, None, None, None, None, None, None


def side_by_side(gradient: Any) -> Any:
    """A gradient whose channels lie side by side: that of a sum has no strides at all."""
    return gradient if gradient.stride(-1) == 1 and 0 not in gradient.stride() else gradient.contiguous()


def _mapped(info: Any, dims: tuple[Any, ...], x: Any, cosine: Any, sine: Any, *rest: Any) -> tuple[Any, int]:
    """A mapped axis is one more axis of the batch."""
    size, own = info.batch_size, (dims[0], dims[1], dims[2])
    x, cosine, sine = (
        part.movedim(dim, 0) if dim is not None else part.expand(size, *part.shape)
        for part, dim in zip((x, cosine, sine), own, strict=True)
    )
    batch = x.shape[1]
    cosine, sine = (part.expand(size, batch, *part.shape[2:]).flatten(0, 1) for part in (cosine, sine))
    turned = torch.ops.posenc.turn_one(x.flatten(0, 1).contiguous(), cosine, sine, *rest)
    return turned.unflatten(0, (size, batch)), 0


def _opened() -> str | None:
    """The library opened, and PyTorch's tracers and autograd told of its operators; why not, where that failed."""
    if find_spec("posenc_kernels") is None:
        return "posenc-kernels is not installed"
    import posenc_kernels

    try:
        torch.ops.load_library(str(posenc_kernels.library()))
    except OSError as error:
        return f"posenc-kernels cannot be opened ({' '.join(str(error.__cause__ or error).split())[:200]})"
    if not all(hasattr(torch.ops.posenc, name) for name in NEWEST):
        return "posenc-kernels is older than posenc; install both of one version"
    for name in ("turn_one", "turn_one_at"):
        LIBRARY.impl(name, _like, "Meta")
    torch.library.register_autograd("posenc::turn_one", _backward, setup_context=_remember)
    torch.library.register_vmap("posenc::turn_one", _mapped)
    return None


#: Why there is no kernel; None where there is one. Opened with this module, as any extension is, and not while tracing.
MISSING = _opened()
