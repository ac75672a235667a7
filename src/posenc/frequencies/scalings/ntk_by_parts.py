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
    """ω' = (1 - γ)·ω/factor + γ·ω, where γ rises from 0 at alpha to 1 at beta revolutions over the trained length.

    The ramp of the paper is linear in the revolutions r = original·ω/2π of a pair. In all released code of YaRN it is
    linear in the index of the pair instead (`YaRN`), which is another function.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        original: Trained length, in tokens.
        alpha: Revolutions below which a pair is slowed by the factor; the paper's value for LLaMA.
        beta: Revolutions above which a pair stays, above `alpha`; the paper's value for LLaMA.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or `alpha` is not below `beta`.

    References:
        Peng et al. 2023, arXiv:2309.00071, §3.2.

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
                f"alpha must be below beta; got alpha={self.alpha}, beta={self.beta}. Pairs of fewer than alpha "
                "revolutions are slowed, those of more than beta are not."
            )

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        ends = self.original, self.alpha, self.beta
        return tuple(blended(frequency, self.factor, kept_share(frequency, *ends)) for frequency in unscaled.exact())


def kept_share(frequency: Decimal, original: int, low: float, high: float) -> Decimal:
    """Share γ of a frequency that is kept: 0 up to `low` revolutions over the original length, 1 from `high` on."""
    rotations = EXACT.divide(EXACT.multiply(Decimal(original), frequency), TWO_PI)
    if low == high:
        return Decimal(int(rotations >= Decimal(low)))
    return clipped(EXACT.divide(EXACT.subtract(rotations, Decimal(low)), EXACT.subtract(Decimal(high), Decimal(low))))


def clipped(share: Decimal) -> Decimal:
    """Clip a share to 0 … 1."""
    return min(max(share, Decimal(0)), Decimal(1))


def blended(frequency: Decimal, factor: float, share: Decimal) -> Decimal:
    """Compute share · frequency + (1 - share) · frequency / factor, to 100 digits."""
    slowed = EXACT.divide(EXACT.multiply(EXACT.subtract(Decimal(1), share), frequency), Decimal(factor))
    return EXACT.add(slowed, EXACT.multiply(share, frequency))
