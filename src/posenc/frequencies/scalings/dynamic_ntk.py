"""Dynamic NTK interpolation, for one stated length."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from posenc.core.arrays import Array, Library
from posenc.frequencies.geometric import Geometric, powers
from posenc.frequencies.scalings.ntk_aware import with_base_stretched
from posenc.frequencies.scalings.scaling import PositionCount, Scaling, Stretch, wider_than_two
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class DynamicNTK(Scaling):
    """base' = base · (factor·N/L - (factor - 1))^(d/(d-2)) for N = max(length, original) and L = original.

    emozilla's formula, in Peng et al. 2023, arXiv:2309.00071, §3.3; rope_type "dynamic" of transformers. Released code
    takes N from the longest row of the batch, so one row changes another, and cached keys become wrong. Here you state
    it. vLLM's "dynamic" is length = factor · original.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        original: The trained length.
        length: The length to serve; up to `original` nothing changes. numerics="float32" follows transformers for a
            length that is a plain integer.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
        TypeError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), DynamicNTK(factor=2.0, original=100, length=150)).radians().tolist()
        [1.0, 0.005]
    """

    factor: Stretch
    original: PositionCount
    length: PositionCount

    def fits(self, unscaled: Geometric) -> None:
        wider_than_two(unscaled, "DynamicNTK")

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        factor, length = Decimal(self.factor), Decimal(max(self.length, self.original))
        whole = EXACT.divide(EXACT.multiply(factor, length), Decimal(self.original))
        return with_base_stretched(unscaled, EXACT.subtract(whole, EXACT.subtract(factor, Decimal(1))))

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        by = (self.factor * max(self.length, self.original) / self.original) - (self.factor - 1)
        return 1.0 / powers(unscaled.base * by ** (unscaled.dim / (unscaled.dim - 2)), unscaled, lib)
