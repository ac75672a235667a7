"""Frequencies that are stated one by one, in revolutions: a row of a released projection matrix."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core.declared_fields import Real, TupleOf
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies

#: The largest number in a projection matrix that is accepted, in revolutions for one unit of position.
LARGEST = 1e6


PROJECTION = TupleOf(Real(-LARGEST, LARGEST), "a tuple of numbers, at least one", "Give (0.25, -0.5), say.")


@dataclass(frozen=True)
class Projected(Frequencies):
    """ω_k = 2π·std·row_k, in radians for one unit of position.

    Args:
        row: A number for each frequency.
        std: What all of them are multiplied by.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
        TypeError: A value breaks its rule; the message names the field.

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
