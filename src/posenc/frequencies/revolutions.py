"""Frequencies that count whole revolutions, not radians."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Instance
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies


@dataclass(frozen=True)
class InRevolutions(Frequencies):
    """ω_i = 2π·frequencies_i.

    One unit of position is so many whole revolutions, as for coordinates from -1 to 1 (DINOv3).

    Args:
        frequencies: A record of them.

    Raises:
        TypeError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.frequencies import Geometric
        >>> InRevolutions(Geometric(dim=2)).radians().round(4).tolist()
        [6.2832]
    """

    frequencies: Annotated[Frequencies, Instance("a record of frequencies")]

    @property
    def pairs(self) -> int:
        return self.frequencies.pairs

    def exact(self) -> tuple[Decimal, ...]:
        return tuple(EXACT.multiply(frequency, TWO_PI) for frequency in self.frequencies.exact())

    def angle32(self, positions: Array, lib: Library) -> Array:
        return self.frequencies.angle32(
            positions * (2 * math.pi), lib
        )  # the position first, as released code multiplies
