"""Position interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from posenc.core.arrays import Array, Library
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import Scaling, Stretch
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class Linear(Scaling):
    """ω' = ω / factor: as if every position were divided by the factor (position interpolation).

    Args:
        factor: How many times longer than the trained length; ≥ 1.

    Raises:
        TypeError: `factor` is no number.
        ValueError: `factor` is out of range.

    References:
        Chen et al. 2023, arXiv:2306.15595, eq. 4.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), Linear(factor=2.0)).radians().tolist()
        [0.5, 0.005]
    """

    factor: Stretch

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        return tuple(EXACT.divide(frequency, Decimal(self.factor)) for frequency in unscaled.exact())

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        return unscaled.float32(lib) / self.factor
