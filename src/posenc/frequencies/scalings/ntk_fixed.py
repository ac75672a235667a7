"""NTK-RoPE-fixed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import Scaling, Stretch
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class NTKFixed(Scaling):
    """ω' = (base · factor)^(-2i/d) · factor^(-2/d).

    Pair i is slowed by factor^(2(i+1)/d), the last by the factor itself.

    Su 2023, kexue.fm/archives/9706 (NTK-RoPE-fixed); "ntk" of vLLM without `mixed_b`. NTKAware leaves the fastest pair
    alone; this slows every pair.

    Args:
        factor: How many times longer than the trained length; ≥ 1.

    Raises:
        ValueError: Or TypeError naming the field.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), NTKFixed(factor=4.0)).radians().tolist()
        [0.5, 0.0025]
    """

    factor: Stretch

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        step = EXACT.divide(EXACT.ln(Decimal(self.factor)), Decimal(unscaled.dim))
        return tuple(
            EXACT.multiply(frequency, EXACT.exp(EXACT.multiply(step, Decimal(-2 * (pair + 1)))))
            for pair, frequency in enumerate(unscaled.exact())
        )
