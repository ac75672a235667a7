"""The kernel for accelerators, in Triton: queries and keys in one launch, in place or into new memory.

It applies a `Turn`, whichever record made it; its reference is `Turn.__call__`. One program turns all heads of one token,
so that the row of cosines and sines is read once. Products are formed in float32 and rounded once; a GPU may fuse a
product and a sum, so results are good to a unit in the last place of float32 before that rounding.

Importing this module needs Triton, and tells PyTorch of the operators.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from posenc.kernels.native import KINDS, channels, table
from posenc.turn import Turn

#: The widest head that one program holds.
WIDEST = 4096


def refusal(turn: Turn, *tensors: Any) -> str | None:
    """Why the kernel cannot turn these tensors, (batch, heads, time, dim); None where it can."""
    where = "cuda" if not triton.knobs.runtime.interpret else "cpu"
    if turn.cos.dtype != torch.float32 or turn.cos.requires_grad or turn.sin.requires_grad:
        return "the turn is not float32, or is learned"
    if turn.dim > WIDEST:
        return f"heads are wider than {WIDEST}"
    for x in (turn.cos, *tensors):
        if x.device.type != where:
            return f"a tensor is on {x.device.type}, and Triton runs on {where}"
    for x in tensors:
        if x.dtype not in KINDS:
            return f"a tensor is {x.dtype}".replace("torch.", "")
        if x.stride(-1) != 1:
            return "the channels of a tensor are not side by side"
    return None


def into_new(q: Any, k: Any, turn: Turn) -> tuple[Any, Any]:
    """q and k, (batch, heads, time, dim), turned into new memory; with gradients for both."""
    turned: tuple[Any, Any] = torch.ops.posenc.turn_pair_triton(q, k, *table(turn), *channels(turn), False)
    return turned


def in_place(q: Any, k: Any, turn: Turn) -> None:
    """q and k, (batch, heads, time, dim), turned where they are; no gradient is recorded."""
    torch.ops.posenc.turn_pair_triton_(q, k, *table(turn), *channels(turn), False)


@triton.jit  # type: ignore[untyped-decorator]
def _turn_head(source, target, cos, sin, pair, pairs, start, half, adjacent: tl.constexpr):  # type: ignore[no-untyped-def]
    """One head of one token; `pair` numbers its pairs, those from `pairs` on are not there."""
    if adjacent:
        first = start + 2 * pair
        second = first + 1
    else:
        first = start + pair // half * 2 * half + pair % half
        second = first + half
    there = pair < pairs
    a = tl.load(source + first, mask=there).to(tl.float32)
    b = tl.load(source + second, mask=there).to(tl.float32)
    tl.store(target + first, (a * cos - b * sin).to(target.dtype.element_ty), mask=there)
    tl.store(target + second, (a * sin + b * cos).to(target.dtype.element_ty), mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _turn_heads(  # type: ignore[no-untyped-def]
    source, target, heads, head_step, to_head_step, cosine, sine, of_head, width, pairs, start, half,
    adjacent: tl.constexpr, inverse: tl.constexpr, passes: tl.constexpr, own: tl.constexpr,
    block: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """All heads of one token of one tensor; the table's row is read once, or once a head where each has its own."""
    pair, channel = tl.arange(0, block), tl.arange(0, wide)
    rest = (channel < width) & ((channel < start) | (channel >= start + 2 * pairs))
    cos = tl.load(cosine + pair, mask=pair < pairs, other=0.0)
    sin = tl.load(sine + pair, mask=pair < pairs, other=0.0)
    for head in range(heads):
        if own:
            cos = tl.load(cosine + head * of_head + pair, mask=pair < pairs, other=0.0)
            sin = tl.load(sine + head * of_head + pair, mask=pair < pairs, other=0.0)
        before, after = source + head * head_step, target + head * to_head_step
        if passes:
            tl.store(after + channel, tl.load(before + channel, mask=rest), mask=rest)
        _turn_head(before, after, cos, -sin if inverse else sin, pair, pairs, start, half, adjacent)


@triton.jit  # type: ignore[untyped-decorator]
def _turn_token(  # type: ignore[no-untyped-def]
    q, k, to_q, to_k, cosine, sine,
    q_batch, q_head, q_time, k_batch, k_head, k_time,
    to_q_batch, to_q_head, to_q_time, to_k_batch, to_k_head, to_k_time,
    of_batch, of_head, of_time, time, q_heads, k_heads, width, pairs, start, half,
    adjacent: tl.constexpr, inverse: tl.constexpr, passes: tl.constexpr, own: tl.constexpr,
    block: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """All heads of one token, queries and keys; programs are numbered by token within batch."""
    program = tl.program_id(0).to(tl.int64)
    row, token = program // time, program % time
    place = row * of_batch + token * of_time
    _turn_heads(
        q + row * q_batch + token * q_time, to_q + row * to_q_batch + token * to_q_time, q_heads, q_head, to_q_head,
        cosine + place, sine + place, of_head, width, pairs, start, half, adjacent, inverse, passes, own, block, wide,
    )  # fmt: skip
    _turn_heads(
        k + row * k_batch + token * k_time, to_k + row * to_k_batch + token * to_k_time, k_heads, k_head, to_k_head,
        cosine + place, sine + place, of_head, width, pairs, start, half, adjacent, inverse, passes, own, block, wide,
    )  # fmt: skip


def _launch(
    q: Any, k: Any, to_q: Any, to_k: Any, cosine: Any, sine: Any, start: int, blocks: int, adjacent: bool, inverse: bool
) -> None:
    batch, time, width = q.shape[0], q.shape[2], q.shape[3]
    if 0 in (batch, time):
        return
    pairs = cosine.shape[-1]
    shared = [0 if cosine.shape[axis] == 1 else cosine.stride(axis) for axis in (0, 1)]
    torch.library.wrap_triton(_turn_token)[(batch * time,)](
        q, k, to_q, to_k, cosine, sine,
        *q.stride()[:3], *k.stride()[:3], *to_q.stride()[:3], *to_k.stride()[:3], *shared, cosine.stride(2),
        time, q.shape[1], k.shape[1], width, pairs, start, pairs // blocks,
        adjacent=adjacent, inverse=inverse, passes=to_q is not q and 2 * pairs < width, own=cosine.shape[1] > 1,
        block=triton.next_power_of_2(pairs), wide=triton.next_power_of_2(width),
    )  # fmt: skip


@torch.library.triton_op("posenc::turn_pair_triton", mutates_args={})  # type: ignore[untyped-decorator]
def _turn_pair(
    q: torch.Tensor,
    k: torch.Tensor,
    cosine: torch.Tensor,
    sine: torch.Tensor,
    start: int,
    blocks: int,
    adjacent: bool,
    inverse: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    turned = torch.empty_like(q), torch.empty_like(k)
    _launch(q, k, *turned, cosine, sine, start, blocks, adjacent, inverse)
    return turned


@torch.library.triton_op("posenc::turn_pair_triton_", mutates_args={"q", "k"})  # type: ignore[untyped-decorator]
def _turn_pair_(
    q: torch.Tensor,
    k: torch.Tensor,
    cosine: torch.Tensor,
    sine: torch.Tensor,
    start: int,
    blocks: int,
    adjacent: bool,
    inverse: bool,
) -> None:
    _launch(q, k, q, k, cosine, sine, start, blocks, adjacent, inverse)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, _, cosine, sine, *ctx.channels, ctx.inverse = inputs
    ctx.save_for_backward(cosine, sine)


def _backward(ctx: Any, of_q: Any, of_k: Any) -> tuple[Any, ...]:
    """The transpose of a turn is the turn the other way, its factor kept."""
    of_q, of_k = (
        part if part.stride(-1) == 1 and 0 not in part.stride() else part.contiguous() for part in (of_q, of_k)
    )
    back = torch.ops.posenc.turn_pair_triton(of_q, of_k, *ctx.saved_tensors, *ctx.channels, not ctx.inverse)
    return *back, None, None, None, None, None, None


_turn_pair.register_autograd(_backward, setup_context=_remember)
