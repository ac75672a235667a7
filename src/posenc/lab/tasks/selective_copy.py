"""Repeat some tokens of a sequence, and leave out the blanks between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.lab.tasks.copying import question_and_answer
from posenc.lab.tasks.task import Batch, Task, TaskRow


@dataclass(frozen=True)
class SelectiveCopy(Task):
    """`count` symbols, in order at random indices among blanks; then a separator, after which the model says them.

    length counts symbols and blanks. Where it is less than `count`, there are as many symbols as it says.
    """

    count: Annotated[int, Whole(1, 1 << 16)] = 8
    symbols: Annotated[int, Whole(2, 1 << 16)] = 16

    @property
    def vocabulary(self) -> int:
        return self.symbols + 2

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        count = min(self.count, length)
        indices = np.sort(rng.permuted(np.broadcast_to(np.arange(length), (size, length)), axis=1)[:, :count], 1)
        answer = rng.integers(0, self.symbols, (size, count))
        text = np.full((size, length + 1), self.symbols)
        np.put_along_axis(text, indices, answer, 1)
        text[:, -1] = self.symbols + 1
        return question_and_answer(text, answer)

    def tokens_at(self, length: int) -> int:
        return length + self.count


ROW = TaskRow(
    "selective-copy",
    SelectiveCopy,
    "Which tokens count, and in which order?",
    "Golovneva et al. 2024, arXiv:2405.18719, §4.2",
    ("decoder",),
    length=32,
    test_lengths=(32, 64, 128),
    steps=2000,
    unit="symbols and blanks",
    metric="exact",
)
