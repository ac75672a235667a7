"""Frequencies of diffusion models: the exponent's divisor is shifted, the angle scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Base, Real, Width
from posenc.phase.frequencies import EXACT, Frequencies


@dataclass(frozen=True)
class Shifted(Frequencies):
    """ω_i = scale · base^(-i / (count - shift)) for the pairs i = 0 … count-1, in radians a step.

    With shift 1 the last frequency is exactly scale/base, with shift 0 it stops one step short of it.

    Args:
        count: Number of frequencies.
        base: Base of the powers, `max_period` of released code.
        shift: Number subtracted from the exponent's divisor.
        scale: Factor of all of them.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or `shift` is not below `count`.
    """

    count: Width
    base: Base = 10_000.0
    shift: Annotated[float, Real(0.0, 1e6)] = 1.0
    scale: Annotated[float, Real(-1e6, 1e6)] = 1.0

    def _check_together(self) -> None:
        if self.shift >= self.count:
            raise ValueError(
                f"shift must be below the number of pairs, {self.count}, from which it is subtracted; got "
                f"{self.shift!r}. Make it smaller, or widen dim."
            )

    @property
    def pairs(self) -> int:
        return self.count

    def exact(self) -> tuple[Decimal, ...]:
        return _exact(self)

    def float32(self, like: Array | Library) -> Array:
        """Frequencies before the scale, which released models apply to the angle."""
        lib = arrays.library(like)
        steps = lib.constant(np.arange(self.count, dtype=np.float32), lib.xp.float32)
        return lib.xp.exp(steps * -math.log(self.base) / (self.count - self.shift))

    def angle32(self, positions: Array, lib: Library) -> Array:
        angle = positions[..., None] * self.float32(lib)
        return angle if self.scale == 1.0 else angle * self.scale


@lru_cache(maxsize=256)
def _exact(shifted: Shifted) -> tuple[Decimal, ...]:
    """Frequencies to 100 digits."""
    step = EXACT.divide(EXACT.ln(Decimal(shifted.base)), EXACT.subtract(Decimal(shifted.shift), Decimal(shifted.count)))
    scale = Decimal(shifted.scale)
    return tuple(EXACT.multiply(scale, EXACT.exp(EXACT.multiply(step, Decimal(i)))) for i in range(shifted.count))
