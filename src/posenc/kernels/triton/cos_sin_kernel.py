"""Cosine and sine of integer positions, made in the kernel without a table, accurate for positions up to 2^53.

The phase is an integer. A frequency is a whole number of 2^-128 revolutions; times the position, in integers that wrap
around, it is the fraction of a revolution, of which the upper 64 bits are kept: they are off by 2^-63 revolutions at
most. The uppermost two name the nearest quarter turn, what is left goes to float32 and through two polynomials of four
terms.

Error: 9.3e-8 of either wave. The other way that was considered adds two angles from tables of 2·√N rows: 1.4e-7 in
float32, and for every pair two reads that this one does without. Two 64-bit products and some thirty instructions a
pair are made once for all heads of a token, against 40 heads of two loads and two stores: on paper it costs less than
reading a table. Not measured on a GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from posenc.core.checked_positions import LARGEST_POSITION
from posenc.core.rotation import Rotation
from posenc.kernels.native import channels, tables

#: The farthest place; what lies beyond, either way, gives NaN.
FARTHEST = tl.constexpr(LARGEST_POSITION)
# π/2 as a float32 and what it lacks; then sin(πz/2)/z - π/2 and (cos(πz/2) - 1)/z² in z², |z| ≤ 1/2, by interpolation
# in Chebyshev's points: off by less than 3e-9.
QUARTER = tl.constexpr(1.5707963705062866)
S0, S1, S2, S3 = (
    tl.constexpr(term)
    for term in (-4.8553051357203e-08, -0.6459634900093079, 0.07968021929264069, -0.004602149128913879)
)
C0, C1, C2, C3 = (
    tl.constexpr(term) for term in (-1.2337005138397217, 0.253669410943985, -0.02086152881383896, 0.0009067399078048766)
)


class CosSinSource(NamedTuple):
    """Source of the kernel's cosines and sines, as its operators take it.

    A table: cosine and sine, (batch or 1, heads or 1, time, pairs), float32. Or whole positions and words: positions
    (batch or 1, time, axes), None for first, first + 1, …; words (2, axes, pairs), int64, the frequencies in 2^-128
    revolutions, the upper bits first; cosine and sine are multiplied by factor.
    """

    cosine: Any = None
    sine: Any = None
    positions: Any = None
    words: Any = None
    first: int = 0
    factor: float = 1.0

    @property
    def pairs(self) -> int:
        return int((self.words if self.cosine is None else self.cosine).shape[-1])


class Channels(NamedTuple):
    """Channels that rotate, as operators take them: first one, number of blocks, whether pairs are adjacent."""

    start: int
    blocks: int
    adjacent: bool


def of_table(rotation: Rotation) -> tuple[CosSinSource, Channels]:
    """Cosines and sines of a rotation, and its channels."""
    return CosSinSource(*tables(rotation)), Channels(*channels(rotation))


@triton.jit
def exact(
    positions, of_axis, first, words, factor, pair, pairs: tl.constexpr, axes: tl.constexpr, counted: tl.constexpr
):
    """Make cosine and sine for each pair at `positions`, one an axis, or at `first` where `counted`."""
    phase = tl.zeros_like(pair).to(tl.int64)
    outside = 0.0
    for axis in tl.static_range(axes):
        position = first if counted else tl.load(positions + axis * of_axis).to(tl.int64)
        upper = tl.load(words + axis * pairs + pair, mask=pair < pairs, other=0)
        lower = tl.load(words + (axes + axis) * pairs + pair, mask=pair < pairs, other=0)
        # The upper half of lower · place as if both had no sign, less what that makes of a place below zero.
        phase += upper * position + tl.umulhi(lower, position) - tl.where(position < 0, lower, 0)
        outside += tl.where((position <= FARTHEST) & (position >= -FARTHEST), 0.0, float("nan"))
    quarter = ((phase >> 61) + 1) >> 1
    z = (phase << 2).to(tl.float32) * 2.0**-64  # of a quarter turn, from -1/2 to 1/2
    square = z * z
    sine = z * QUARTER + z * (S0 + square * (S1 + square * (S2 + square * S3)))
    cosine = 1.0 + square * (C0 + square * (C1 + square * (C2 + square * C3)))
    odd = (quarter & 1) != 0
    cos, sin = tl.where(odd, sine, cosine), tl.where(odd, cosine, sine)
    cos = tl.where(((quarter + 1) & 2) != 0, -cos, cos)
    sin = tl.where((quarter & 2) != 0, -sin, sin)
    return cos * factor + outside, sin * factor + outside
