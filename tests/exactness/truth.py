"""Cosines and sines of position × frequency to 240 bits, rounded once: what the tables are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
from mpmath import libmp

#: Bits carried. A product of a 53-bit position keeps 2^-180 of a revolution, and trigonometry reduces so precisely.
BITS = 240
FLOAT32 = (24, -149)
FLOAT64 = (53, -1074)


def progression(base: float, dim: int) -> list[tuple]:
    """base^(-2i/dim) for every pair, as raw mpf values."""
    with mpmath.workprec(BITS + 40):
        return [(mpmath.mpf(base) ** (mpmath.mpf(-2 * i) / dim))._mpf_ for i in range((dim + 1) // 2)]


def cosine_sine(position: float, frequency: tuple) -> tuple[tuple, tuple]:
    """cos and sin of the exact product, as raw mpf values."""
    place = libmp.from_int(position) if isinstance(position, int) else libmp.from_float(position)
    return libmp.mpf_cos_sin(libmp.mpf_mul(place, frequency, BITS), BITS)


def rounded(value: tuple, kind: tuple[int, int]) -> float:
    """The nearest number of a binary format, subnormal ones included, as a Python float."""
    bits, lowest = kind
    _, _, exponent, size = value
    places = exponent + size - lowest
    if places <= 0:  # below the least number: half of it and more round up to it
        return math.copysign(2.0**lowest if places == 0 else 0.0, -1.0 if value[0] else 1.0)
    return libmp.to_float(libmp.mpf_pos(value, min(bits, places), "n"))


def waves(positions: list, base: float, dim: int) -> list[list[tuple]]:
    """cos and sin for every position and pair, as raw mpf values."""
    frequencies = progression(base, dim)
    return [[cosine_sine(position, frequency) for frequency in frequencies] for position in positions]


def tables(values: list[list[tuple]], kind: tuple[int, int] = FLOAT32) -> tuple[np.ndarray, np.ndarray]:
    """Correctly rounded cosines and sines, (n, pairs) each, as float64 numbers."""
    cosine, sine = (np.array([[rounded(pair[which], kind) for pair in row] for row in values]) for which in (0, 1))
    return cosine, sine


def differing(got: tuple, expected: tuple) -> int:
    """How many entries are not the expected numbers; NaN differs."""
    return sum(int((np.asarray(mine, np.float64) != theirs).sum()) for mine, theirs in zip(got, expected, strict=True))


def ulps(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest distance of float64 numbers from the correctly rounded ones, in units of the last place."""
    return float((np.abs(got - expected) / np.spacing(np.abs(expected))).max())


def convergents(frequency: tuple, quarters: int, limit: int = 2**53) -> Iterator[int]:
    """Positions up to a limit at which the angle comes closest to whole numbers of `quarters` quarter turns.

    They are the numerators of the convergents of quarters·(π/2)/ω: no smaller position comes closer to one.
    """
    with mpmath.workprec(BITS + 40):
        rest = quarters * mpmath.pi / 2 / mpmath.mpf(frequency)
        before, numerator = 0, 1
        while True:
            part = int(mpmath.floor(rest))
            before, numerator = numerator, part * numerator + before
            if numerator > limit:
                return
            if numerator:
                yield numerator
            rest = 1 / (rest - part)
