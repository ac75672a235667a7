"""Frequencies of random Fourier features: drawn once from a seed, or stated one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated

import numpy as np

from posenc.core import validation
from posenc.core.declared_fields import Real, TupleOf, Whole
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies


@dataclass(frozen=True)
class Drawn(Frequencies):
    """ω_k = 2π·std·b_k with b_k drawn from N(0, 1), in radians for one unit of position.

    The draws come from the integers of NumPy's PCG64, whose stream for a seed is promised never to change, by the rule
    of Box and Muller, and are rounded to float32 as a checkpoint would hold them.

    Args:
        count: Number of frequencies.
        std: Standard deviation, in revolutions for one unit of position.
        seed: Seed of the stream.
        axis: Row of `count` numbers of the stream: one for each coordinate of a position.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range.
    """

    count: Annotated[int, Whole(1, validation.LARGEST_WIDTH // 2)]
    std: Annotated[float, Real(0.0, 1e4, above=True)] = 1.0
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 0
    #: Which row of `count` numbers of the stream: one for each coordinate of a position.
    axis: Annotated[int, Whole(0, 15)] = 0

    @property
    def pairs(self) -> int:
        return self.count

    def draws(self) -> tuple[float, ...]:
        """Numbers b_k, as float32 numbers; those of a smaller count are the first of a larger one.

        Returns:
            A number for each frequency.
        """
        return _draws(self.seed, self.count * (self.axis + 1))[self.count * self.axis :]

    def exact(self) -> tuple[Decimal, ...]:
        spread = EXACT.multiply(TWO_PI, Decimal(self.std))
        return tuple(EXACT.multiply(spread, Decimal(draw)) for draw in self.draws())


@lru_cache(maxsize=64)
def _draws(seed: int, count: int) -> tuple[float, ...]:
    """First `count` normal numbers of a seed's stream."""
    words = np.random.PCG64(seed).random_raw(2 * count).reshape(-1, 2)
    return tuple(_normal(int(one) >> 11, int(other) >> 11) for one, other in words)


def _normal(one: int, other: int) -> float:
    """Normal number of two whole numbers below 2^53, by Box and Muller."""
    return float(np.float32(math.sqrt(-2 * math.log((one + 1) / 2**53)) * math.cos(2 * math.pi * other / 2**53)))


#: The largest number in a projection matrix that is accepted, in revolutions for one unit of position.
LARGEST = 1e6


PROJECTION = TupleOf(Real(-LARGEST, LARGEST), "a tuple of numbers, at least one", "Give (0.25, -0.5), say.")


@dataclass(frozen=True)
class Projected(Frequencies):
    """ω_k = 2π·std·row_k, in radians for one unit of position: a row of a released projection matrix.

    Args:
        row: A number for each frequency.
        std: Factor of all of them.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A number is out of range.

    Example:
        >>> Projected((0.25, -0.5)).radians().round(4).tolist()
        [1.5708, -3.1416]
    """

    row: Annotated[tuple[float, ...], PROJECTION]
    std: Annotated[float, Real(0.0, 1e4, above=True)] = 1.0

    @property
    def pairs(self) -> int:
        return len(self.row)

    def exact(self) -> tuple[Decimal, ...]:
        spread = EXACT.multiply(TWO_PI, Decimal(self.std))
        return tuple(EXACT.multiply(spread, Decimal(value)) for value in self.row)
