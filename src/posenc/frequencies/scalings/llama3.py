"""Scaling of Llama 3.1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Real
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.ntk_by_parts import blended, kept_share
from posenc.frequencies.scalings.scaling import PositionCount, Scaling, Stretch


@dataclass(frozen=True)
class Llama3(Scaling):
    """ω' = ω/factor for wavelengths above original/low, ω below original/high, and between (1 - γ)·ω/factor + γ·ω.

    γ = (original/λ - low)/(high - low) for the wavelength λ = 2π/ω. rope_type "llama3" of transformers, whose fields
    are `low_freq_factor` and `high_freq_factor`.

    Args:
        factor: How many times longer than the trained length, ≥ 1: 8 in Llama 3.1, 32 in Llama 3.2.
        original: Trained length, in tokens.
        low: Revolutions over the trained length below which a pair is slowed by the factor.
        high: Revolutions above which a pair stays; equal to `low` (Llama 4 Scout), nothing is blended.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or `low` is above `high`.

    References:
        Grattafiori et al. 2024, arXiv:2407.21783 (Llama 3.1).

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), Llama3(factor=4.0, original=1000)).radians().round(6).tolist()
        [1.0, 0.003979]
    """

    factor: Stretch = 8.0
    original: PositionCount = 8192
    low: Annotated[float, Real(0.0, 1e9, above=True)] = 1.0
    high: Annotated[float, Real(0.0, 1e9, above=True)] = 4.0

    def _check_together(self) -> None:
        if self.low > self.high:
            raise ValueError(
                f"low must be at most high; got low={self.low}, high={self.high}. Wavelengths above original/low are "
                "stretched, those below original/high are not."
            )

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        ends = self.original, self.low, self.high
        return tuple(blended(frequency, self.factor, kept_share(frequency, *ends)) for frequency in unscaled.exact())

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        xp, frequencies = lib.xp, unscaled.float32(lib)
        wavelengths = 2 * math.pi / frequencies
        slow = wavelengths > self.original / self.low
        scaled = xp.where(slow, frequencies / self.factor, frequencies)
        if self.low == self.high:  # the blend would divide by zero, and no wavelength lies between
            return scaled
        share = (self.original / wavelengths - self.low) / (self.high - self.low)
        mixed = (1 - share) * scaled / self.factor + share * scaled
        between = ~(wavelengths < self.original / self.high) & ~slow
        return xp.where(between, mixed, scaled)
