"""Frequencies in closed form: geometric sequences with the published exponents, and plain divisors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Base, Real, TupleOf, Width
from posenc.phase.frequencies import EXACT, Frequencies

Exponent = Literal["2i/d", "i/d", "i/(d/2-1)"]


@dataclass(frozen=True)
class Geometric(Frequencies):
    """ω_i = base^-e(i) for the pairs i = 0 … ⌈dim/2⌉-1 of `dim` channels.

    Args:
        dim: Channels.
        base: Base of the powers; 10,000 in the paper.
        exponent: "2i/d" (the paper, §3.5), "i/d" (half the exponent, as many tutorials write it), "i/(d/2-1)"
            (tensor2tensor: the last pair has exactly 1/base).
        released: Float32 arithmetic of released models, as a "power" (1 / base^e, rotary code) or an "exponential"
            (exp(-e·ln base), sinusoidal code); it matters for `numerics="float32"` alone.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or `dim` is below 4 for the exponent "i/(d/2-1)".

    References:
        Vaswani et al. 2017, arXiv:1706.03762.
    """

    dim: Width
    base: Base = 10_000.0
    exponent: Exponent = "2i/d"
    released: Literal["power", "exponential"] = "power"

    def _check_together(self) -> None:
        if self.exponent == "i/(d/2-1)" and self.dim // 2 < 2:
            raise ValueError(
                f"dim must be at least 4 for the exponent i/(d/2-1), which divides by d/2-1; got {self.dim}. Widen it."
            )

    @property
    def pairs(self) -> int:
        # tensor2tensor leaves the last channel of an odd width empty; the other rules have a sine for it.
        return self.dim // 2 if self.exponent == "i/(d/2-1)" else (self.dim + 1) // 2

    def exponents(self) -> tuple[tuple[int, int], ...]:
        """Exponent of each pair as a fraction (numerator, denominator).

        Returns:
            A numerator and a denominator for each pair.
        """
        if self.exponent == "i/(d/2-1)":
            return tuple((i, self.dim // 2 - 1) for i in range(self.pairs))
        step = 2 if self.exponent == "2i/d" else 1
        return tuple((step * i, self.dim) for i in range(self.pairs))

    def exact(self) -> tuple[Decimal, ...]:
        return _powers(self.base, self.exponents())

    def float32(self, like: Array | Library) -> Array:
        lib = arrays.library(like)
        if self.released == "exponential":
            steps = lib.constant(np.array([float(top) for top, _ in self.exponents()], np.float32), lib.xp.float32)
            return lib.xp.exp(steps * (-math.log(self.base) / self.exponents()[0][1]))
        return 1.0 / self.powers(lib)

    def powers(self, like: Array | Library) -> Array:
        """Powers base^e(i) in float32 (pairs,), the reciprocals of the frequencies, as rotary code raises them.

        Args:
            like: An array, or the library of the call.

        Returns:
            Powers (pairs,), float32.
        """
        return powers(self.base, self, arrays.library(like))


#: The rule for divisors, of an encoding too.
DIVISORS = TupleOf(Real(1e-9, 1e12), "a tuple of numbers, at least one", "Give (1, 2, 3), say.")


@dataclass(frozen=True)
class Divisors(Frequencies):
    """ω_i = 1 / divisors[i], freely chosen, for the teaching encoding `DivisorPairs`.

    Args:
        divisors: A divisor for each pair, above 0.

    Raises:
        TypeError: `divisors` is no tuple of numbers.
        ValueError: A divisor is out of range.
    """

    divisors: Annotated[tuple[float, ...], DIVISORS] = (1.0, 2.0, 3.0)

    @property
    def pairs(self) -> int:
        return len(self.divisors)

    def exact(self) -> tuple[Decimal, ...]:
        return tuple(EXACT.divide(Decimal(1), Decimal(value)) for value in self.divisors)


def powers(base: float, frequencies: Geometric, lib: Library, count: int | None = None) -> Array:
    """Raise another base to the exponents of these frequencies, or to the first `count`, in float32.

    The count is that of the released code: torch's powers of a few numbers need not be the first of its powers of more.
    """
    tops, bottom = [float(top) for top, _ in frequencies.exponents()][:count], float(frequencies.exponents()[0][1])
    fractions = lib.constant(np.array(tops, np.float32), lib.xp.float32) / bottom
    return base**fractions


@lru_cache(maxsize=256)
def _powers(base: float, exponents: tuple[tuple[int, int], ...]) -> tuple[Decimal, ...]:
    """Powers base^-(top/bottom), each to 100 digits."""
    logarithm = EXACT.ln(Decimal(base))
    return tuple(
        EXACT.exp(EXACT.divide(EXACT.multiply(logarithm, Decimal(-top)), Decimal(bottom))) for top, bottom in exponents
    )
