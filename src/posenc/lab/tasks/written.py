"""Tasks whose model reads a source and writes a text: a translation, a summary."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posenc.lab.tasks.task import NOTHING, Batch, Task

#: The token before the first that is written, which is padding too, and the one behind the last.
BEGIN, END = 0, 1


@dataclass(frozen=True)
class Written(Task):
    """Sources and targets of different lengths; the target is measured by BLEU, too."""

    varies: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def words(self) -> Sequence[str]:
        """What each token stands for, from 2 on; the first two are `BEGIN` and `END`."""

    @abc.abstractmethod
    def pair(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        """A source of `length` items, and its target."""

    @property
    def vocabulary(self) -> int:
        return len(self.words)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        return padded([self.pair(rng, length) for _ in range(size)])

    def written(self, tokens: Sequence[int]) -> str:
        return " ".join(self.words[token] for token in self.until_end(tokens))

    def until_end(self, tokens: Sequence[int]) -> list[int]:
        """The tokens that are words, before the end."""
        kept = list(tokens)
        kept = kept[: kept.index(END)] if END in kept else kept
        return [token for token in kept if token >= 2]


def padded(pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
    """Pairs of sources and targets as a batch, padded behind.

    Example:
        >>> batch = padded([([5, 6], [7]), ([8], [9, 4])])
        >>> batch.source.tolist(), batch.visible.tolist()
        ([[5, 6], [8, 0]], [[True, True], [True, False]])
        >>> batch.tokens.tolist(), batch.targets.tolist()
        ([[0, 7, 0], [0, 9, 4]], [[7, 1, -100], [9, 4, 1]])
    """
    sources, targets = zip(*pairs, strict=True)
    source = _padded_rows(sources, BEGIN)
    visible = np.arange(source.shape[1]) < np.array([[len(row)] for row in sources])
    return Batch(
        _padded_rows([[BEGIN, *row] for row in targets], BEGIN),
        _padded_rows([[*row, END] for row in targets], NOTHING),
        source=source,
        visible=visible,
    )


def _padded_rows(rows: Sequence[list[int]], padding: int) -> np.ndarray:
    result = np.full((len(rows), max(1, *map(len, rows))), padding, np.int64)
    for row, into in zip(rows, result, strict=True):
        into[: len(row)] = row
    return result
