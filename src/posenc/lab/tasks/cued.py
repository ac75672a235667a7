"""Say the token at a distance, or at an index, that the content names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Whole
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
        return naming(symbols, cues, np.arange(length) - cues - 1, self.symbols)


@dataclass(frozen=True)
class AbsoluteIndex(CuedOffset):
    """Each token is a symbol with a cue j from 0 to `cues` - 1: yᵢ = the symbol at index j, where there is one."""

    cues: Annotated[int, Whole(1, 1 << 10)] = 16

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        symbols, cues = rng.integers(0, self.symbols, (size, length)), rng.integers(0, self.cues, (size, length))
        return naming(symbols, cues, cues, self.symbols)


def naming(symbols: np.ndarray, cues: np.ndarray, index: np.ndarray, count: int) -> Batch:
    """Tokens that are one of `count` symbols with a cue, and say the symbol at an index, where the sequence has it.

    Each (batch, n). Tokens: the symbols as they are said, then each symbol with each cue.

    Example:
        >>> batch = naming(np.array([[0, 1, 1]]), np.array([[0, 0, 2]]), np.array([[-1, 0, 3]]), count=2)
        >>> batch.tokens.tolist(), batch.targets.tolist()
        ([[2, 3, 7]], [[-100, 0, -100]])
    """
    length = symbols.shape[1]
    named = np.take_along_axis(symbols, index.clip(0, length - 1), 1)
    return Batch(count * (1 + cues) + symbols, np.where((index >= 0) & (index < length), named, NOTHING))


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
