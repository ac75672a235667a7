"""Some rungs of a ladder, in any order, each as often as wanted."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np

from posenc import _array, _check
from posenc._array import Array, Library
from posenc.declared_fields import Instance
from posenc.phase.frequencies import Frequencies


@dataclass(frozen=True)
class Chosen(Frequencies):
    """ω_i = ladder[rungs[i]]: which frequency of a ladder each pair has, so that several axes can share or repeat one.

    ladder: any frequencies; rungs: numbers from 0 to ladder.pairs - 1. Raises ValueError or TypeError naming the field.

    >>> from posenc.frequencies import Geometric
    >>> Chosen(Geometric(dim=4), rungs=(0, 1, 0)).radians().tolist()
    [1.0, 0.01, 1.0]
    """

    ladder: Annotated[Frequencies, Instance("a record of frequencies")]
    rungs: tuple[int, ...]

    def _check_together(self) -> None:
        if not isinstance(self.rungs, tuple | list) or not self.rungs:
            raise TypeError(
                f"rungs must be a tuple of whole numbers; got {_check.shown(self.rungs)}. Give (0, 1, 0), say."
            )
        rungs = tuple(_check.integer("rungs", rung, 0, self.ladder.pairs - 1) for rung in self.rungs)
        _check.settle(self, rungs=rungs)

    @property
    def pairs(self) -> int:
        return len(self.rungs)

    def exact(self) -> tuple[Decimal, ...]:
        whole = self.ladder.exact()
        return tuple(whole[rung] for rung in self.rungs)

    def float32(self, like: Array | Library) -> Array:
        lib = _array.library(like)
        return self.ladder.float32(lib)[lib.constant(_index(self))]

    def angle32(self, positions: Array, lib: Library) -> Array:
        return self.ladder.angle32(positions, lib)[..., lib.constant(_index(self))]


@_array.host
def _index(chosen: Chosen) -> np.ndarray:
    return np.array(chosen.rungs, np.int64)
