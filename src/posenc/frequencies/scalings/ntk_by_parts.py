"""NTK-by-parts interpolation, with the paper's ramp."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core.declared_fields import Real
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import PositionCount, Scaling, Stretch
from posenc.phase.frequencies import EXACT, TWO_PI


@dataclass(frozen=True)
class NTKByParts(Scaling):
    """ω' = (1 - γ)·ω/factor + γ·ω, where γ rises from 0 at α to 1 at β rotations, r = original·ω/2π of them.

    Peng et al. 2023, arXiv:2309.00071, §3.2: the ramp is linear in the rotations of a pair over the trained length. In
    all released code of YaRN it is linear in the index of the pair instead (`YaRN`), which is another function.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        original: The trained length.
        alpha: Rotations, α < β; the paper's values for LLaMA.
        beta: Rotations, α < β; the paper's values for LLaMA.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
        TypeError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), NTKByParts(factor=4.0, original=1000)).radians().round(6).tolist()
        [1.0, 0.002643]
    """

    factor: Stretch
    original: PositionCount
    alpha: Annotated[float, Real(0.0, 1e9)] = 1.0
    beta: Annotated[float, Real(0.0, 1e9, above=True)] = 32.0

    def _check_together(self) -> None:
        if self.alpha >= self.beta:
            raise ValueError(
                f"alpha must be below beta; got alpha={self.alpha}, beta={self.beta}. Pairs of fewer than alpha turns "
                "are "
                "slowed, those of more than beta are not."
            )

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        ends = self.original, self.alpha, self.beta
        return tuple(blended(frequency, self.factor, kept_share(frequency, *ends)) for frequency in unscaled.exact())


def kept_share(frequency: Decimal, original: int, low: float, high: float) -> Decimal:
    """γ: how much of a pair stays as it was, from none of it at `low` revolutions in the original length to all at `high`."""
    rotations = EXACT.divide(EXACT.multiply(Decimal(original), frequency), TWO_PI)
    if low == high:
        return Decimal(int(rotations >= Decimal(low)))
    return clipped(EXACT.divide(EXACT.subtract(rotations, Decimal(low)), EXACT.subtract(Decimal(high), Decimal(low))))


def clipped(share: Decimal) -> Decimal:
    """The share, at least 0 and at most 1."""
    return min(max(share, Decimal(0)), Decimal(1))


def blended(frequency: Decimal, factor: float, share: Decimal) -> Decimal:
    """share of the frequency as it was, the rest of it slowed by the factor."""
    slowed = EXACT.divide(EXACT.multiply(EXACT.subtract(Decimal(1), share), frequency), Decimal(factor))
    return EXACT.add(slowed, EXACT.multiply(share, frequency))
