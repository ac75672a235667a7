"""Repeat a sequence, forwards or backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow


@dataclass(frozen=True)
class Copy(Task):
    """begin x separator x: the model says the second x.

    A sequence is right where each token is, given those before: the same as if the model had written it all by itself,
    greedily.

    Example:
        >>> batch = Copy(symbols=4).batch(np.random.default_rng(0), 1, 3)
        >>> batch.tokens[0].tolist(), batch.targets[0].tolist()
        ([4, 3, 2, 2, 5, 3, 2], [-100, -100, -100, -100, 3, 2, 2])
    """

    varies: ClassVar[bool] = True
    symbols: Annotated[int, Whole(2, 1 << 16)] = 16

    @property
    def vocabulary(self) -> int:
        return self.symbols + 2

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        x = rng.integers(0, self.symbols, (size, length))
        begin, separator = (np.full((size, 1), self.symbols + which) for which in (0, 1))
        return question_and_answer(np.concatenate([begin, x, separator], 1), self.answer(x))

    def answer(self, x: np.ndarray) -> np.ndarray:
        """What is to be said of x."""
        return x

    def tokens_at(self, length: int) -> int:
        return 2 * length + 1


@dataclass(frozen=True)
class Reverse(Copy):
    """begin x separator x̄: the model says x from its end to its beginning."""

    def answer(self, x: np.ndarray) -> np.ndarray:
        return x[:, ::-1]


def question_and_answer(question: np.ndarray, answer: np.ndarray) -> Batch:
    """A batch for a decoder that reads a question and says an answer, whose last token it need not read."""
    tokens = np.concatenate([question, answer[:, :-1]], 1)
    targets = np.concatenate([np.full_like(question[:, 1:], NOTHING), answer], 1)
    return Batch(tokens, targets)


_SOURCE = "Kazemnejad et al. 2023, arXiv:2305.19466, Table 1"
ROWS = (
    TaskRow("copy", Copy, "Say it again.", _SOURCE, ("decoder",), 20, (20, 30, 40, 80), 2000, "symbols", "exact"),
    TaskRow(
        "reverse", Reverse, "Say it backwards.", _SOURCE, ("decoder",), 20, (20, 30, 40, 80), 2000, "symbols", "exact"
    ),
)
