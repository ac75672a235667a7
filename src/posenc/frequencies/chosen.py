"""Some of the frequencies of another record, in any order, each as often as wanted."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Instance, TupleOf, Whole
from posenc.phase.frequencies import Frequencies


@dataclass(frozen=True)
class Chosen(Frequencies):
    """ω_i = frequencies[indices[i]]: which frequency each pair has, so that several axes can share or repeat one.

    Args:
        frequencies: Any record of them;.
        indices: Numbers from 0 to frequencies.pairs - 1.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
        TypeError: A value breaks its rule; the message names the field.

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
    return np.array(chosen.indices, np.int64)
