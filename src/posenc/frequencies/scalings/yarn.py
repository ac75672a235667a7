"""YaRN, as it was released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Real
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.ntk_by_parts import blended, clipped
from posenc.frequencies.scalings.scaling import LARGEST_FACTOR, PositionCount, Scaling, Stretch
from posenc.phase.frequencies import EXACT, TWO_PI

#: What the released ramp adds to its end where it has no length.
LEAST_RAMP = 0.001
DIALECTS = ("transformers", "megatron", "outside")


@dataclass(frozen=True)
class YaRN(Scaling):
    """ω' = (1 - ρ)·ω + ρ·ω/factor, with ρ rising linearly in the index of the pair from c(beta_fast) to c(beta_slow).

    c(r) = d·ln(original/2πr) / (2·ln base) is the pair that makes r full revolutions over the trained length; cos and
    sin are multiplied by 0.1·ln(factor) + 1, logits therefore by its square; inside `Partial` this holds for what the
    rotated channels add to them, and the other channels keep their size. The ramp is that of the authors' code, which
    releases follow; the paper's own is `NTKByParts`.

    Args:
        factor: How many times longer than the trained length; ≥ 1.
        original: Trained length, in tokens.
        beta_fast: Revolutions above which a pair stays.
        beta_slow: Revolutions below which a pair is slowed by the factor.
        truncate: Whether the ends of the ramp are rounded outwards to whole pairs; gpt-oss does not.
        mscale: Numerator of the attention factor m(mscale)/m(mscale_all_dim), m(k) = 0.1·k·ln(factor) + 1, in place of
            the paper's (DeepSeek, whose softmax is then scaled by m(mscale_all_dim)² besides: `softmax_factor`).
        mscale_all_dim: Its denominator; given together with `mscale`.
        attention: Attention factor itself. Files that give mscale alone mean different things: see `attention_of`.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, the ramp has no length, or fields do not go together.

    References:
        Peng et al. 2023, arXiv:2309.00071, §3.4.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> scaling = YaRN(factor=4.0, original=4096)
        >>> Rescaled(Geometric(dim=8), scaling).radians().round(6).tolist(), round(scaling.attention_factor, 4)
        ([1.0, 0.1, 0.00625, 0.00025], 1.1386)
    """

    factor: Stretch
    original: PositionCount
    beta_fast: Annotated[float, Real(0.0, 1e9, above=True)] = 32.0
    beta_slow: Annotated[float, Real(0.0, 1e9, above=True)] = 1.0
    truncate: bool = True
    mscale: Annotated[float, Real(0.0, 1e3)] | None = None
    mscale_all_dim: Annotated[float, Real(0.0, 1e3)] | None = None
    attention: Annotated[float, Real(0.0, 1e6, above=True)] | None = None

    def _check_together(self) -> None:
        if self.beta_slow > self.beta_fast:
            raise ValueError(
                f"beta_slow must be at most beta_fast; got beta_slow={self.beta_slow}, beta_fast={self.beta_fast}. "
                "Swap them."
            )
        if self.original < 2 * math.pi * self.beta_slow:
            raise ValueError(
                "original must be at least 2π·beta_slow, or the fastest pair is too slow for the ramp; got "
                f"{self.original} for beta_slow={self.beta_slow}. Give the trained length."
            )
        if (self.mscale is None) != (self.mscale_all_dim is None):
            raise ValueError(
                f"mscale and mscale_all_dim must be given together; got mscale={self.mscale}, "
                f"mscale_all_dim={self.mscale_all_dim}. Readers treat one alone differently: see attention_of."
            )
        if self.attention is not None and self.mscale is not None:
            raise ValueError(
                f"attention must be given without mscale; got {self.attention} and mscale={self.mscale}. Leave one out."
            )

    def fits(self, unscaled: Geometric) -> None:
        if unscaled.base <= 1.0 or self._ends(unscaled)[0] > self._ends(unscaled)[1]:
            raise ValueError(
                f"base must be above 1, and so large that some pair makes at most beta_slow={self.beta_slow} "
                f"revolutions in {self.original} positions; got {unscaled.base}. Raise it."
            )

    @property
    def attention_factor(self) -> float:
        if self.attention is not None:
            return self.attention
        if self.mscale is None or self.mscale_all_dim is None:
            return magnitude(self.factor, 1.0)
        return magnitude(self.factor, self.mscale) / magnitude(self.factor, self.mscale_all_dim)

    @property
    def softmax_factor(self) -> float:
        """Further factor of the logits in DeepSeek's attention, m(mscale_all_dim)²; 1 without mscale_all_dim."""
        return magnitude(self.factor, self.mscale_all_dim or 0.0) ** 2

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        low, high = self._ends(unscaled)
        length = EXACT.subtract(high, low) or Decimal(LEAST_RAMP)
        shares = (clipped(EXACT.divide(EXACT.subtract(Decimal(i), low), length)) for i in range(unscaled.pairs))
        one = Decimal(1)
        return tuple(
            blended(frequency, self.factor, EXACT.subtract(one, share))
            for frequency, share in zip(unscaled.exact(), shares, strict=True)
        )

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        kept = 1 - lib.constant(_ramp(self, unscaled), lib.xp.float32)
        powers = unscaled.powers(lib)
        return 1.0 / (self.factor * powers) * (1 - kept) + 1.0 / powers * kept

    def _ends(self, unscaled: Geometric) -> tuple[Decimal, Decimal]:
        """Pairs between which the ramp rises, to 100 digits."""
        low, high = (_pair_of(Decimal(beta), self.original, unscaled) for beta in (self.beta_fast, self.beta_slow))
        if self.truncate:
            low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
        return max(low, Decimal(0)), min(high, Decimal(unscaled.dim - 1))


def magnitude(factor: float, mscale: float) -> float:
    """Factor m(k) = 0.1·k·ln(factor) + 1 by which cosine and sine grow for a longer context (eq. 22)."""
    return 1.0 if factor <= 1.0 else 0.1 * mscale * math.log(factor) + 1.0


def attention_of(
    dialect: Literal["transformers", "megatron", "outside"],
    factor: float,
    mscale: Annotated[float, Real(0.0, 1e3)] | None,
    mscale_all_dim: Annotated[float, Real(0.0, 1e3)] | None,
) -> float:
    """Compute a config's attention factor from mscale and mscale_all_dim as `dialect` does, for `YaRN(attention=…)`.

    Args:
        dialect: "transformers" takes 0.1·ln(factor) + 1 unless both are given and not zero; "megatron" (and vLLM for
            DeepSeek) reads a missing mscale as 1 and a missing mscale_all_dim as 0; "outside" (torchtitan) leaves cos
            and sin alone and scales the softmax instead, by the square of a factor that is 1 here.
        factor: How many times longer than the trained length; ≥ 1.
        mscale: Number of the file, None where it has none.
        mscale_all_dim: Number of the file, None where it has none.

    Returns:
        Factor of cosine and sine.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `dialect` is unknown, or a number is out of range.

    Example:
        >>> [round(attention_of(name, 40.0, 0.707, None), 4) for name in DIALECTS]
        [1.3689, 1.2608, 1.0]
    """
    validation.choice("dialect", dialect, DIALECTS)
    factor = validation.real("factor", factor, 1.0, LARGEST_FACTOR)
    mscale, mscale_all_dim = (
        None if value is None else validation.real(name, value, 0.0, 1e3)
        for name, value in (("mscale", mscale), ("mscale_all_dim", mscale_all_dim))
    )
    if dialect == "outside":
        return 1.0
    if dialect == "transformers":
        both = bool(mscale) and bool(mscale_all_dim)
        mscale, mscale_all_dim = (mscale, mscale_all_dim) if both else (1.0, 0.0)
    scale, of_all = 1.0 if mscale is None else mscale, 0.0 if mscale_all_dim is None else mscale_all_dim
    return magnitude(factor, scale) / magnitude(factor, of_all)


def _pair_of(rotations: Decimal, original: int, unscaled: Geometric) -> Decimal:
    """Pair c(r), between whole ones, that makes so many revolutions over the trained length."""
    revolutions = _ln(EXACT.divide(Decimal(original), EXACT.multiply(rotations, TWO_PI)))
    return EXACT.divide(
        EXACT.multiply(Decimal(unscaled.dim), revolutions), EXACT.multiply(Decimal(2), _ln(Decimal(unscaled.base)))
    )


@lru_cache(maxsize=256)
def _ln(value: Decimal) -> Decimal:
    """Natural logarithm to 100 digits, which takes most of the time of making a scaled RoPE."""
    return EXACT.ln(value)


@arrays.host
def _ramp(scaling: YaRN, unscaled: Geometric) -> np.ndarray:
    """Ramp ρ in the float64 and float32 arithmetic of the released code; shape (pairs,)."""

    def pair_of(rotations: float) -> float:
        revolutions = math.log(scaling.original / (rotations * 2 * math.pi))
        return (unscaled.dim * revolutions) / (2 * math.log(unscaled.base))

    low, high = pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, unscaled.dim - 1)
    if low == high:
        high += LEAST_RAMP
    ramp: np.ndarray = (np.arange(unscaled.pairs, dtype=np.float32) - np.float32(low)) / np.float32(high - low)
    ramp = np.clip(ramp, np.float32(0), np.float32(1))
    return ramp
