"""NTK scalings: the base is stretched for one factor, for a stated length, or so that every pair is slowed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Real
from posenc.frequencies.geometric import Geometric, powers
from posenc.frequencies.scalings.scaling import PositionCount, Scaling, Stretch, wider_than_two
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class NTKAware(Scaling):
    """base' = base · factor^(d/(d-2)): the slowest pair is slowed by the factor, the fastest not at all.

    bloc97's formula. Elsewhere: `base_rescale_factor` (x-transformers), `theta_rescale_factor`
    (rotary-embedding-torch), `alpha` (vLLM, HunYuan). diffusers' `ntk_factor` has no exponent: that is RoPE with
    another base.

    Args:
        factor: How many times longer than the trained length; ≥ 1.

    Raises:
        TypeError: `factor` is no number.
        ValueError: `factor` is out of range, or there is one pair of channels alone.

    References:
        Peng et al. 2023, arXiv:2309.00071, §3.1.

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
    """Frequencies of the base multiplied by `by`^(d/(d-2)): each times by^(-2i/(d-2))."""
    logarithm = EXACT.divide(EXACT.ln(by), Decimal(unscaled.dim - 2))
    return tuple(
        EXACT.multiply(frequency, EXACT.exp(EXACT.multiply(logarithm, Decimal(-2 * pair))))
        for pair, frequency in enumerate(unscaled.exact())
    )


@dataclass(frozen=True)
class DynamicNTK(Scaling):
    """base' = base · (factor·N/L - (factor - 1))^(d/(d-2)) for N = max(length, original) and L = original.

    emozilla's formula; rope_type "dynamic" of transformers. Released code takes N from the longest row of the batch, so
    one row changes another, and cached keys become wrong. Here you state it. vLLM's "dynamic" is length = factor ·
    original.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        original: Trained length, in tokens.
        length: Length to serve, in tokens; up to `original` nothing changes. numerics="float32" follows transformers
            for a length that is a plain integer.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or there is one pair of channels alone.

    References:
        Peng et al. 2023, arXiv:2309.00071, §3.3.

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


@dataclass(frozen=True)
class NTKFixed(Scaling):
    """ω' = (base · factor)^(-2i/d) · factor^(-2/d).

    Pair i is slowed by factor^(2(i+1)/d), the last by the factor itself.

    "ntk" of vLLM without `mixed_b`. NTKAware leaves the fastest pair alone; this slows every pair.

    Args:
        factor: How many times longer than the trained length; ≥ 1.

    Raises:
        TypeError: `factor` is no number.
        ValueError: `factor` is out of range.

    References:
        Su 2023, kexue.fm/archives/9706 (NTK-RoPE-fixed).

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


@dataclass(frozen=True)
class NTKMixed(Scaling):
    """ω' = ω · exp(-a·(i+1)^b) with a = ln factor / (d/2)^b: the last pair is slowed by the factor, whatever b.

    "ntk" of vLLM with `mixed_b`. b = 1 is NTKFixed, b = 0 slows every pair equally; the author's published patch uses
    0.75.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        b: Exponent, from 0 to 10.

    Raises:
        TypeError: A field is no number.
        ValueError: A field is out of range.

    References:
        Su 2023, kexue.fm/archives/9706 (NTK-RoPE-mixed).

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
        """Share (i+1)^b / (d/2)^b of a pair, by one logarithm a pair."""
        distance = EXACT.subtract(EXACT.ln(Decimal(pair + 1)), last)
        return EXACT.exp(EXACT.multiply(Decimal(self.b), distance))
