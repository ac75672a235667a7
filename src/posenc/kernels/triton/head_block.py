"""Some heads of one token, read, rotated and written: a block of heads by pairs that one program holds."""

from __future__ import annotations

import triton
import triton.language as tl

from posenc.kernels.triton.cos_sin_kernel import exact


@triton.jit
def load(
    rows, present,
    start: tl.constexpr, half: tl.constexpr, pairs: tl.constexpr, adjacent: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Load first and second channels of every pair in float32, (heads, block), of heads that are present."""
    if adjacent:  # neighbours come in one wide read
        channel = tl.arange(0, 2 * block)[None, :]
        x = tl.load(rows + start + channel, mask=present & (channel < 2 * pairs), other=0.0).to(tl.float32)
        a, b = tl.split(tl.reshape(x, (x.shape[0], block, 2)))
    else:
        pair = tl.arange(0, block)[None, :]
        first = start + pair if half == pairs else start + pair // half * 2 * half + pair % half
        a = tl.load(rows + first, mask=present & (pair < pairs), other=0.0).to(tl.float32)
        b = tl.load(rows + first + half, mask=present & (pair < pairs), other=0.0).to(tl.float32)
    return a, b


@triton.jit
def store(
    rows, present, a, b,
    start: tl.constexpr, half: tl.constexpr, pairs: tl.constexpr, adjacent: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Store first and second channels of every pair where `load` reads them, rounded once to the dtype there."""
    if adjacent:
        channel = tl.arange(0, 2 * block)[None, :]
        x = tl.reshape(tl.join(a, b), (a.shape[0], 2 * block))
        tl.store(rows + start + channel, x.to(rows.dtype.element_ty), mask=present & (channel < 2 * pairs))
    else:
        pair = tl.arange(0, block)[None, :]
        first = start + pair if half == pairs else start + pair // half * 2 * half + pair % half
        tl.store(rows + first, a.to(rows.dtype.element_ty), mask=present & (pair < pairs))
        tl.store(rows + first + half, b.to(rows.dtype.element_ty), mask=present & (pair < pairs))


@triton.jit
def load_cos_sin(
    cosine, sine, of_head, head, present, positions, of_axis, first, words, factor,
    pairs: tl.constexpr, axes: tl.constexpr, counted: tl.constexpr, by_head: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Load cosines and sines of one token, (1 or heads, block), or make them if axes is not 0."""
    pair = tl.arange(0, block)
    if axes:
        cos, sin = exact(positions, of_axis, first, words, factor, pair, pairs, axes, counted)
        cos, sin = cos[None, :], sin[None, :]
    elif by_head:
        mask = present & (pair < pairs)[None, :]
        cos = tl.load(cosine + head * of_head + pair[None, :], mask=mask, other=0.0)
        sin = tl.load(sine + head * of_head + pair[None, :], mask=mask, other=0.0)
    else:
        cos = tl.load(cosine + pair[None, :], mask=(pair < pairs)[None, :], other=0.0)
        sin = tl.load(sine + pair[None, :], mask=(pair < pairs)[None, :], other=0.0)
    return cos, sin


@triton.jit
def norm(
    a, b, c, channel, weight, epsilon,
    width: tl.constexpr, start: tl.constexpr, half: tl.constexpr, pairs: tl.constexpr, adjacent: tl.constexpr,
    passes: tl.constexpr, plus_one: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Apply RMSNorm to each head: first and second channels a, b of pairs, and channels c that do not rotate."""
    square = tl.sum(a * a + b * b, 1)
    if passes:
        square += tl.sum(c * c, 1)
    scale = tl.rsqrt(square / width + epsilon)[:, None]
    row = weight + tl.zeros((1, 1), tl.int64)
    first, second = load(row, tl.full((1, 1), True, tl.int1), start, half, pairs, adjacent, block)
    if plus_one:
        first, second = first + 1.0, second + 1.0
    if passes:
        third = tl.load(weight + channel, mask=channel < width, other=0.0).to(tl.float32)
        c = c * scale * (third + 1.0 if plus_one else third)
    return a * scale * first, b * scale * second, c


@triton.jit
def rotation_heads(
    source, target, heads, step, to_step, number, cosine, sine, of_head, positions, of_axis, first, words, factor,
    guard, weight, epsilon,
    width: tl.constexpr, start: tl.constexpr, half: tl.constexpr, pairs: tl.constexpr, adjacent: tl.constexpr,
    inverse: tl.constexpr, passes: tl.constexpr, axes: tl.constexpr, counted: tl.constexpr, by_head: tl.constexpr,
    normed: tl.constexpr, plus_one: tl.constexpr, tile: tl.constexpr, block: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """Rotate the `number`th tile of heads of one token from `source` to `target`, pointers to its first head.

    `guard` is 0.0, or NaN for a token that must not get a number; with `passes` channels that do not rotate are written
    too.
    """
    head = (number * tile + tl.arange(0, tile)).to(tl.int64)[:, None]  # a head may lie more than 2^31 numbers away
    present = head < heads
    cos, sin = load_cos_sin(
        cosine,
        sine,
        of_head,
        head,
        present,
        positions,
        of_axis,
        first,
        words,
        factor,
        pairs,
        axes,
        counted,
        by_head,
        block,
    )
    cos, sin = cos + guard, (-sin if inverse else sin) + guard
    before, after = source + head * step, target + head * to_step
    a, b = load(before, present, start, half, pairs, adjacent, block)
    channel = tl.arange(0, wide)[None, :]
    rest = present & (channel < width) & ((channel < start) | (channel >= start + 2 * pairs))
    c = tl.load(before + channel, mask=rest, other=0.0) if passes else a
    if normed:
        a, b, c = norm(
            a, b, c.to(tl.float32), channel, weight, epsilon,
            width, start, half, pairs, adjacent, passes, plus_one, block,
        )  # fmt: skip
    if passes:
        tl.store(after + channel, c.to(after.dtype.element_ty), mask=rest)
    store(after, present, a * cos - b * sin, a * sin + b * cos, start, half, pairs, adjacent, block)
