"""The frequencies of several records, one record after another."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import InstanceOf, TupleOf
from posenc.phase.frequencies import Frequencies

_PART = InstanceOf(Frequencies, "a tuple of records of frequencies")
PARTS = TupleOf(_PART, "a tuple of frequencies, at least one", "Give (Geometric(dim=4),), say.")


@dataclass(frozen=True)
class Joined(Frequencies):
    """The frequencies of each part, one part after another: a record for each axis of a video, say.

    Args:
        parts: Records of frequencies, at least one.

    Raises:
        TypeError: A value breaks its rule; the message names the field.

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
