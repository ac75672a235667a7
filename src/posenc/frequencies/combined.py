"""Frequencies made of other frequencies: chosen, joined, or counted in whole revolutions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Instance, InstanceOf, TupleOf, Whole
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies


@dataclass(frozen=True)
class Chosen(Frequencies):
    """ω_i = frequencies[indices[i]]: some of other frequencies, so that several axes can share or repeat one.

    Args:
        frequencies: Frequencies to choose from.
        indices: Numbers from 0 to frequencies.pairs - 1, one for each pair.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: An index is out of range.

    Example:
        >>> from posenc.frequencies import Geometric
        >>> Chosen(Geometric(dim=4), indices=(0, 1, 0)).radians().tolist()
        [1.0, 0.01, 1.0]
    """

    frequencies: Annotated[Frequencies, Instance("a record of frequencies")]
    indices: tuple[int, ...]

    def _check_together(self) -> None:
        indices = TupleOf(Whole(0, self.frequencies.pairs - 1), "a tuple of whole numbers", "Give (0, 1, 0), say.")
        validation.settle(self, indices=indices("indices", self.indices))

    @property
    def pairs(self) -> int:
        return len(self.indices)

    def exact(self) -> tuple[Decimal, ...]:
        whole = self.frequencies.exact()
        return tuple(whole[index] for index in self.indices)

    def float32(self, like: Array | Library) -> Array:
        lib = arrays.library(like)
        return self.frequencies.float32(lib)[lib.constant(_index(self))]

    def angle32(self, positions: Array, lib: Library) -> Array:
        return self.frequencies.angle32(positions, lib)[..., lib.constant(_index(self))]


@arrays.host
def _index(chosen: Chosen) -> np.ndarray:
    """Indices as an array."""
    return np.array(chosen.indices, np.int64)


_PART = InstanceOf(Frequencies, "a tuple of records of frequencies")
PARTS = TupleOf(_PART, "a tuple of frequencies, at least one", "Give (Geometric(dim=4),), say.")


@dataclass(frozen=True)
class Joined(Frequencies):
    """Frequencies of each part, one part after another: for each axis of a video, say.

    Args:
        parts: Frequencies, at least one.

    Raises:
        TypeError: `parts` is no tuple of frequencies.

        ValueError: A field breaks its rule; the message names it.

    Example:
        >>> from posenc.frequencies import Geometric
        >>> Joined((Geometric(dim=2), Geometric(dim=4))).radians().tolist()
        [1.0, 1.0, 0.01]
    """

    parts: Annotated[tuple[Frequencies, ...], PARTS]

    @property
    def pairs(self) -> int:
        return sum(part.pairs for part in self.parts)

    def exact(self) -> tuple[Decimal, ...]:
        return tuple(frequency for part in self.parts for frequency in part.exact())

    def float32(self, like: Array | Library) -> Array:
        lib = arrays.library(like)
        return lib.xp.concatenate([part.float32(lib) for part in self.parts])

    def angle32(self, positions: Array, lib: Library) -> Array:
        return lib.xp.concatenate([part.angle32(positions, lib) for part in self.parts], -1)


@dataclass(frozen=True)
class InRevolutions(Frequencies):
    """ω_i = 2π·frequencies_i: one unit of position is so many whole revolutions.

    For coordinates from -1 to 1, as in DINOv3.

    Args:
        frequencies: Frequencies in revolutions for one unit of position.

    Raises:
        TypeError: The field holds no frequencies.

        ValueError: A field breaks its rule; the message names it.

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
