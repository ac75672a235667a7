"""Resonance RoPE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated

from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Instance
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import Scaling
from posenc.phase.frequencies import EXACT, TWO_PI


@dataclass(frozen=True)
class Resonance(Scaling):
    """ω' = 2π / round(2π/ω): every wavelength is a whole number of positions, so later revolutions repeat the first.

    A pair that does not rotate is left alone.

    Args:
        scaling: Scaling that comes before, such as `YaRN` (the paper's Resonance YaRN); None for none.

    Raises:
        TypeError: `scaling` is no scaling.
        ValueError: A wavelength would round to 0.

    References:
        Wang et al. 2024, arXiv:2403.00071, §4.1.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), Resonance()).wavelengths().tolist()
        [6.0, 628.0]
    """

    scaling: Annotated[Scaling, Instance("a scaling or None")] | None = None

    def fits(self, unscaled: Geometric) -> None:
        if self.scaling is not None:
            self.scaling.fits(unscaled)
        if any(frequency > EXACT.multiply(TWO_PI, Decimal(2)) for frequency in self._before(unscaled)):
            raise ValueError(
                f"base must leave wavelengths of half a position or more to be rounded; got {unscaled.base}. Raise it."
            )

    @property
    def attention_factor(self) -> float:
        return 1.0 if self.scaling is None else self.scaling.attention_factor

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        return tuple(_resonant(frequency) for frequency in self._before(unscaled))

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        before = unscaled.float32(lib) if self.scaling is None else self.scaling.float32(unscaled, lib)
        rotating = lib.xp.where(before == 0, 1.0, before)
        return lib.xp.where(before == 0, before, 2 * math.pi / lib.xp.round(2 * math.pi / rotating))

    def _before(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        """Frequencies to be rounded: those of the field `scaling`, or unscaled ones without it."""
        return unscaled.exact() if self.scaling is None else self.scaling.exact(unscaled)


def _resonant(frequency: Decimal) -> Decimal:
    """Frequency whose wavelength is the nearest whole number."""
    if not frequency:
        return frequency
    wavelength = EXACT.divide(TWO_PI, frequency).to_integral_value(ROUND_HALF_EVEN, EXACT)
    return EXACT.divide(TWO_PI, wavelength)
