"""LongRoPE, for one stated length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Real, TupleOf, Whole
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import LARGEST_FACTOR, LONGEST, PositionCount, Scaling, Stretch
from posenc.phase.frequencies import EXACT

DIVISORS = TupleOf(
    Real(0.0, LARGEST_FACTOR, above=True), "a tuple of numbers, one for each pair", "Give the list of the file."
)


@dataclass(frozen=True)
class LongRoPE(Scaling):
    """ω'_i = ω_i / f_i, with f = long for a length above `original`, else short; the lists are found by search.

    rope_type "longrope" ("su" in old files) of transformers, which switches lists in the middle of a conversation. Here
    you state the length, and the scaling never switches. The paper also leaves the first n̂ positions unscaled, a
    number found by search. Released models have no such number, and neither does this scaling: every position is
    scaled.

    Args:
        short: A divisor for each pair, for lengths up to `original`.
        long: A divisor for each pair, for longer ones.
        original: Trained length, in tokens, from 2.
        length: Length to serve, in tokens.
        factor: s of the attention factor √(1 + ln s / ln original), 1 for s = 1; the longest length / original where a
            file has none.
        attention: Attention factor itself, where it is given in place of the formula's.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or a list has not a divisor for each pair.

    References:
        Ding et al. 2024, arXiv:2402.13753.

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> scaling = LongRoPE(short=(1.0, 1.0), long=(1.0, 5.0), original=4096, length=10_000, factor=32.0)
        >>> Rescaled(Geometric(dim=4), scaling).radians().tolist(), round(scaling.attention_factor, 4)
        ([1.0, 0.002], 1.1902)
    """

    short: Annotated[tuple[float, ...], DIVISORS]
    long: Annotated[tuple[float, ...], DIVISORS]
    original: Annotated[int, Whole(2, LONGEST)]
    length: PositionCount
    factor: Stretch
    attention: Annotated[float, Real(0.0, 1e6, above=True)] | None = None

    def fits(self, unscaled: Geometric) -> None:
        for name in ("short", "long"):
            if len(getattr(self, name)) != unscaled.pairs:
                raise ValueError(
                    f"{name} must have a divisor for each of {unscaled.pairs} pairs; got {len(getattr(self, name))}. "
                    "Give the list of this width."
                )

    @property
    def divisors(self) -> tuple[float, ...]:
        """Divisors f_i for the stated length: `long` above `original`, else `short`."""
        return self.long if self.length > self.original else self.short

    @property
    def attention_factor(self) -> float:
        if self.attention is not None:
            return self.attention
        return 1.0 if self.factor <= 1.0 else math.sqrt(1 + math.log(self.factor) / math.log(self.original))

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        pairs = zip(unscaled.exact(), self.divisors, strict=True)
        return tuple(EXACT.divide(frequency, Decimal(divisor)) for frequency, divisor in pairs)

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        return 1.0 / (lib.constant(_single(self), lib.xp.float32) * unscaled.powers(lib))


@arrays.host
def _single(scaling: LongRoPE) -> np.ndarray:
    """Divisors as float32."""
    return np.array(scaling.divisors, np.float32)
