"""Launches of the Triton kernel: one program for each token and tile of heads, with warps by tile size."""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from posenc.kernels.triton.cos_sin_kernel import Channels, CosSinSource
from posenc.kernels.triton.head_block import rotation_heads

#: Pairs that one program holds, and that one warp holds: 32 a thread, so that each wave serves four heads in its thread
#: and 128 bytes a thread of 16-bit numbers are on their way at once. By reckoning; no GPU has been measured.
PAIRS_A_PROGRAM = 2048
PAIRS_A_WARP = 1024


class Norm(NamedTuple):
    """A norm of queries and keys before they rotate, as the operators take it; no weights for none.

    x / √(mean x² + epsilon) · weight, or · (1 + weight), over a whole head; weights (dim,).
    """

    q_weight: Any = None
    k_weight: Any = None
    epsilon: float = 0.0
    plus_one: bool = False


class RotationArguments(NamedTuple):
    """Arguments of a rotation kernel: source of cosines and sines, channels that rotate, and norm."""

    cos_sin: CosSinSource
    channels: Channels
    norm: Norm = Norm()


def tile(heads: int, block: int) -> int:
    """How many heads one program holds, a power of two: as many as fit, fewer where over a quarter would be idle."""
    size = min(triton.next_power_of_2(max(heads, 1)), max(1, PAIRS_A_PROGRAM // block))
    while size > 1 and 3 * (-(-heads // size) * size) > 4 * heads:
        size //= 2
    return int(size)


def warps(tiles: tuple[int, ...], block: int) -> int:
    """Warps of a program, a power of two up to 8."""
    return int(min(8, max(1, triton.next_power_of_2(max(tiles) * block // PAIRS_A_WARP))))


@triton.jit(do_not_specialize=["first"])
def rotate_token_block(
    q, k, to_q, to_k, cosine, sine, positions, words, first, factor, q_weight, k_weight, epsilon,
    q_batch, q_head, q_time, k_batch, k_head, k_time,
    to_q_batch, to_q_head, to_q_time, to_k_batch, to_k_head, to_k_time,
    of_batch, of_head, of_time, of_axis, time, q_heads, k_heads,
    width: tl.constexpr, start: tl.constexpr, half: tl.constexpr, pairs: tl.constexpr, adjacent: tl.constexpr,
    inverse: tl.constexpr, passes: tl.constexpr, axes: tl.constexpr, counted: tl.constexpr, by_head: tl.constexpr,
    normed: tl.constexpr, plus_one: tl.constexpr,
    q_tile: tl.constexpr, k_tile: tl.constexpr, block: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """Rotate one tile of heads of one token, of queries or keys; program ids: token within batch, and tile."""
    program, number = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row, token = program // time, program % time
    offset = row * of_batch + token * of_time
    of_keys = number - tl.cdiv(q_heads, q_tile)
    if of_keys < 0:
        rotation_heads(
            q + row * q_batch + token * q_time, to_q + row * to_q_batch + token * to_q_time, q_heads, q_head, to_q_head,
            number, cosine + offset, sine + offset, of_head, positions + offset, of_axis, first + token, words, factor,
            0.0, q_weight, epsilon, width, start, half, pairs, adjacent, inverse, passes, axes, counted, by_head,
            normed, plus_one, q_tile, block, wide,
        )  # fmt: skip
    else:
        rotation_heads(
            k + row * k_batch + token * k_time, to_k + row * to_k_batch + token * to_k_time, k_heads, k_head, to_k_head,
            of_keys, cosine + offset, sine + offset, of_head, positions + offset, of_axis, first + token, words, factor,
            0.0, k_weight, epsilon, width, start, half, pairs, adjacent, inverse, passes, axes, counted, by_head,
            normed, plus_one, k_tile, block, wide,
        )  # fmt: skip


def table_strides(cos_sin: CosSinSource) -> tuple[int, int, int, int]:
    """Strides of the table or of the positions, by batch, head, time and axis; 0 where one serves all."""
    if cos_sin.cosine is not None:
        batch, head = (0 if cos_sin.cosine.shape[axis] == 1 else cos_sin.cosine.stride(axis) for axis in (0, 1))
        return batch, head, cos_sin.cosine.stride(2), 0
    if cos_sin.positions is None:
        return 0, 0, 0, 0
    batch, time, axis = cos_sin.positions.stride()
    return 0 if cos_sin.positions.shape[0] == 1 else batch, 0, time, axis


def kernel_inputs(cos_sin: CosSinSource, norm: Norm, instead: Any) -> tuple[Any, ...]:
    """Arguments of the kernel for cosines, sines and norm; `instead` for a tensor that will not be read."""
    tensors = [instead if part is None else part for part in (*cos_sin[:4], *norm[:2])]
    return *tensors[:4], cos_sin.first, cos_sin.factor, *tensors[4:], norm.epsilon


def on_device_of(x: Any) -> Any:
    """Context that makes the device of x current, since Triton launches on the current device."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


class Plan(NamedTuple):
    """Launch plan: programs a token for queries and for keys, and constants of the kernel, not to be changed."""

    programs: tuple[int, int]
    constants: dict[str, Any]


def launch_plan(q: Any, k: Any, how: RotationArguments) -> Plan:
    """Return the cached launch plan for these shapes; making one takes longer than a small call."""
    cos_sin, channels, norm = how
    axes = 0 if cos_sin.words is None else cos_sin.words.shape[1]
    by_head = cos_sin.cosine is not None and cos_sin.cosine.shape[1] > 1
    heads, width, normed = (q.shape[1], k.shape[1]), q.shape[3], norm.q_weight is not None
    return _plan(heads, width, cos_sin.pairs, channels, axes, cos_sin.positions is None, by_head, normed, norm.plus_one)


@lru_cache(maxsize=256)
def _plan(
    heads: tuple[int, int],
    width: int,
    pairs: int,
    channels: Channels,
    axes: int,
    counted: bool,
    by_head: bool,
    normed: bool,
    plus_one: bool,
) -> Plan:
    block = triton.next_power_of_2(pairs)
    q_tile, k_tile = (tile(count, block) for count in heads)
    constants = {
        "width": width,
        "start": channels.start,
        "half": pairs // channels.blocks,
        "pairs": pairs,
        "adjacent": channels.adjacent,
        "axes": axes,
        "counted": counted,
        "by_head": by_head,
        "normed": normed,
        "plus_one": plus_one,
        "q_tile": q_tile,
        "k_tile": k_tile,
        "block": block,
        "wide": triton.next_power_of_2(width),
        "num_warps": warps((q_tile, k_tile), block),
        "enable_fp_fusion": False,
    }
    return Plan((-(-heads[0] // q_tile), -(-heads[1] // k_tile)), constants)


def launch(q: Any, k: Any, to_q: Any, to_k: Any, inverse: bool, how: RotationArguments) -> None:
    """Rotate q and k, (batch, heads, time, dim), into to_q and to_k, which may be themselves."""
    (batch, q_heads, time, width), k_heads = q.shape, k.shape[1]
    if 0 in (batch, time):
        return
    cos_sin, _, norm = how
    (of_q, of_k), constants = launch_plan(q, k, how)
    stay = 2 * constants["pairs"] < width
    with on_device_of(q):
        rotate_token_block[(batch * time, of_q + of_k)](
            q, k, to_q, to_k, *kernel_inputs(cos_sin, norm, q),
            *q.stride()[:3], *k.stride()[:3], *to_q.stride()[:3], *to_k.stride()[:3],
            *table_strides(cos_sin), time, q_heads, k_heads,
            inverse=inverse, passes=stay and (to_q is not q or constants["normed"]), **constants,
        )  # fmt: skip
