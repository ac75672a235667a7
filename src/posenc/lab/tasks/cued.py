"""Say the token at a distance, or at an index, that the content names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.declared_fields import Whole
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow


@dataclass(frozen=True)
class CuedOffset(Task):
    """Each token is a symbol with a cue k from 1 to `cues`: yᵢ = the symbol at i - kᵢ, where there is one.

    Tokens: the symbols as they are said, then each symbol with each cue.
    """

    cues: Annotated[int, Whole(1, 1 << 10)] = 8
    symbols: Annotated[int, Whole(2, 1 << 10)] = 8

    @property
    def vocabulary(self) -> int:
        return self.symbols * (1 + self.cues)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        symbols, cues = rng.integers(0, self.symbols, (size, length)), rng.integers(0, self.cues, (size, length))
        at = np.arange(length) - cues - 1
        named = np.take_along_axis(symbols, np.maximum(at, 0), 1)
        return Batch(self.symbols * (1 + cues) + symbols, np.where(at >= 0, named, NOTHING))


@dataclass(frozen=True)
class AbsoluteIndex(CuedOffset):
    """Each token is a symbol with a cue j from 0 to `cues` - 1: yᵢ = the symbol at index j, where there is one."""

    cues: Annotated[int, Whole(1, 1 << 10)] = 16

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        symbols, cues = rng.integers(0, self.symbols, (size, length)), rng.integers(0, self.cues, (size, length))
        named = np.take_along_axis(symbols, np.minimum(cues, length - 1), 1)
        return Batch(self.symbols * (1 + cues) + symbols, np.where(cues < length, named, NOTHING))


ROWS = (
    TaskRow(
        "cued-offset",
        CuedOffset,
        "What stands k places back, where the token here says k?",
        "the content-addressed form of fixed-offset",
        ("encoder", "decoder"),
        length=32,
        test_lengths=(32, 64, 128),
        steps=1000,
    ),
    TaskRow(
        "absolute-index",
        AbsoluteIndex,
        "What stands at index j of the sequence?",
        "an index without a first token to count from",
        ("encoder",),
        length=32,
        test_lengths=(32, 64, 128),
        steps=500,
    ),
)
