"""NTK-aware interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from posenc.core.arrays import Array, Library
from posenc.frequencies.geometric import Geometric, powers
from posenc.frequencies.scalings.scaling import Scaling, Stretch, wider_than_two
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class NTKAware(Scaling):
    """base' = base · factor^(d/(d-2)): the slowest pair is slowed by the factor, the fastest not at all.

    bloc97's formula, in Peng et al. 2023, arXiv:2309.00071, §3.1. Elsewhere: `base_rescale_factor` (x-transformers),
    `theta_rescale_factor` (rotary-embedding-torch), `alpha` (vLLM, HunYuan). diffusers' `ntk_factor` has no exponent:
    that is RoPE with another base.

    Args:
        factor: How many times longer than the trained length; ≥ 1.

    Raises:
        ValueError: Or TypeError naming the field.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), NTKAware(factor=2.0)).radians().tolist()
        [1.0, 0.005]
    """

    factor: Stretch

    def fits(self, unscaled: Geometric) -> None:
        wider_than_two(unscaled, "NTKAware")

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        return with_base_stretched(unscaled, Decimal(self.factor))

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        return 1.0 / powers(unscaled.base * self.factor ** (unscaled.dim / (unscaled.dim - 2)), unscaled, lib)


def with_base_stretched(unscaled: Geometric, by: Decimal) -> tuple[Decimal, ...]:
    """The frequencies of the base multiplied by `by`^(d/(d-2)): each times by^(-2i/(d-2))."""
    logarithm = EXACT.divide(EXACT.ln(by), Decimal(unscaled.dim - 2))
    return tuple(
        EXACT.multiply(frequency, EXACT.exp(EXACT.multiply(logarithm, Decimal(-2 * pair))))
        for pair, frequency in enumerate(unscaled.exact())
    )
