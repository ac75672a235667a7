"""NTK-RoPE-mixed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core.declared_fields import Real
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import Scaling, Stretch
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class NTKMixed(Scaling):
    """ω' = ω · exp(-a·(i+1)^b) with a = ln factor / (d/2)^b: the last pair is slowed by the factor, whatever b.

    Su 2023, kexue.fm/archives/9706 (NTK-RoPE-mixed); "ntk" of vLLM with `mixed_b`. b = 1 is NTKFixed, b = 0 slows every
    pair equally; the author's published patch uses 0.75.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        b: From 0 to 10.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
        TypeError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), NTKMixed(factor=4.0, b=1.0)).radians().tolist()
        [0.5, 0.0025]
    """

    factor: Stretch
    b: Annotated[float, Real(0.0, 10.0)]

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        # (i+1)^b over (d/2)^b, by way of one logarithm a pair.
        last, whole = EXACT.ln(Decimal(unscaled.pairs)), EXACT.ln(Decimal(self.factor))
        return tuple(
            EXACT.multiply(frequency, EXACT.exp(EXACT.multiply(whole, self._share(pair, last).copy_negate())))
            for pair, frequency in enumerate(unscaled.exact())
        )

    def _share(self, pair: int, last: Decimal) -> Decimal:
        distance = EXACT.subtract(EXACT.ln(Decimal(pair + 1)), last)
        return EXACT.exp(EXACT.multiply(Decimal(self.b), distance))
