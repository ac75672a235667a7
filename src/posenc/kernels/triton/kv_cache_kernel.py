"""Queries rotated where they are, keys rotated straight into their cache and values copied into theirs: one launch.

Besides the rotation of two tensors it saves writing the keys and reading them again: 24 576 bytes a token in place of
28 672 for 32 heads and 8 of 128 16-bit numbers, and a launch.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from posenc.kernels.triton.head_block import rotation_heads
from posenc.kernels.triton.launch import RotationArguments, kernel_inputs, launch_plan, on_device_of, table_strides


@triton.jit
def copy_heads(
    source, target, heads, step, to_step, number, width: tl.constexpr, tile: tl.constexpr, wide: tl.constexpr
):
    """Copy the `number`th tile of heads of one token."""
    head = (number * tile + tl.arange(0, tile)).to(tl.int64)[:, None]
    channel = tl.arange(0, wide)[None, :]
    mask = (head < heads) & (channel < width)
    tl.store(target + head * to_step + channel, tl.load(source + head * step + channel, mask=mask), mask=mask)


@triton.jit(do_not_specialize=["first"])
def rotate_into_cache(
    q, k, v, to_k, to_v, slots, cosine, sine, positions, words, first, factor, q_weight, k_weight, epsilon,
    q_batch, q_head, q_time, k_batch, k_head, k_time, v_batch, v_head, v_time,
    to_k_batch, to_k_head, to_k_time, to_v_batch, to_v_head, to_v_time,
    of_batch, of_head, of_time, of_axis, slot_batch, slot_time, time, q_heads, k_heads, capacity, page,
    width: tl.constexpr, start: tl.constexpr, half: tl.constexpr, pairs: tl.constexpr, adjacent: tl.constexpr,
    passes: tl.constexpr, axes: tl.constexpr, counted: tl.constexpr, by_head: tl.constexpr,
    normed: tl.constexpr, plus_one: tl.constexpr,
    q_tile: tl.constexpr, k_tile: tl.constexpr, block: tl.constexpr, wide: tl.constexpr,
    v_width: tl.constexpr, v_wide: tl.constexpr, paged: tl.constexpr,
):  # fmt: skip
    """Process one tile of heads of one token: rotate queries in place, or rotate keys or copy values into a cache."""
    program, number = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row, token = program // time, program % time
    offset = row * of_batch + token * of_time
    slot = tl.load(slots + row * slot_batch + token * slot_time).to(tl.int64)
    kept = (slot >= 0) & (slot < capacity)
    outer, inner = (slot // page, slot % page) if paged else (row, slot)
    heads = tl.where(kept, k_heads, 0)  # a token that is not kept has no heads to write
    of_keys = number - tl.cdiv(q_heads, q_tile)
    of_values = of_keys - tl.cdiv(k_heads, k_tile)
    if of_keys < 0:
        queries = q + row * q_batch + token * q_time
        guard = tl.where(kept, 0.0, float("nan"))
        rotation_heads(
            queries, queries, q_heads, q_head, q_head,
            number, cosine + offset, sine + offset, of_head, positions + offset, of_axis, first + token, words, factor,
            guard, q_weight, epsilon, width, start, half, pairs, adjacent, False, passes and normed, axes, counted,
            by_head, normed, plus_one, q_tile, block, wide,
        )  # fmt: skip
    elif of_values < 0:
        rotation_heads(
            k + row * k_batch + token * k_time, to_k + outer * to_k_batch + inner * to_k_time, heads, k_head, to_k_head,
            of_keys, cosine + offset, sine + offset, of_head, positions + offset, of_axis, first + token, words, factor,
            0.0, k_weight, epsilon, width, start, half, pairs, adjacent, False, passes, axes, counted, by_head,
            normed, plus_one, k_tile, block, wide,
        )  # fmt: skip
    else:
        copy_heads(
            v + row * v_batch + token * v_time, to_v + outer * to_v_batch + inner * to_v_time, heads, v_head, to_v_head,
            of_values, v_width, k_tile, v_wide,
        )  # fmt: skip


def launch_into_cache(
    q: Any, k: Any, v: Any, to_k: Any, to_v: Any, slots: Any, paged: bool, how: RotationArguments
) -> None:
    """Rotate q in place, k into its cache and copy v into its own; slots are (batch or 1, time)."""
    (batch, q_heads, time, width), k_heads, v_width = q.shape, k.shape[1], v.shape[3]
    if 0 in (batch, time):
        return
    cos_sin, _, norm = how
    (of_q, of_k), constants = launch_plan(q, k, how)
    page = to_k.shape[2]
    with on_device_of(q):
        rotate_into_cache[(batch * time, of_q + 2 * of_k)](
            q, k, v, to_k, to_v, slots, *kernel_inputs(cos_sin, norm, q),
            *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *to_k.stride()[:3], *to_v.stride()[:3],
            *table_strides(cos_sin), 0 if slots.shape[0] == 1 else slots.stride(0), slots.stride(1),
            time, q_heads, k_heads, page * to_k.shape[0] if paged else page, page,
            passes=2 * constants["pairs"] < width,
            v_width=v_width, v_wide=triton.next_power_of_2(v_width), paged=paged, **constants,
        )  # fmt: skip
