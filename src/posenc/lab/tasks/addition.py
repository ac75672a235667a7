"""Add two numbers, digit by digit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.lab.tasks.copying import question_and_answer
from posenc.lab.tasks.task import Batch, Task, TaskRow
from posenc.positions import coupled

PLUS, EQUALS = 10, 11


@dataclass(frozen=True)
class Addition(Task):
    """ "a+b=c" with as many digits in a as in b, one more in c, and c written from its least significant digit.

    Batches have coupled ids: digits of the same significance share one (Cho et al. 2024).

    Args:
        spare: In training they start anywhere from 1 to where `spare` more would not fit; 0 for always 1.

    Example:
        >>> batch = Addition().batch(np.random.default_rng(0), 1, 2)  # 86 + 52 = 138, and 831 is said
        >>> batch.tokens[0].tolist(), batch.targets[0, -3:].tolist()
        ([8, 6, 10, 5, 2, 11, 8, 3], [8, 3, 1])
        >>> batch.coupled[0].tolist()
        [3, 2, 1, 3, 2, 1, 2, 3]
    """

    varies: ClassVar[bool] = True
    spare: Annotated[int, Whole(0, 1 << 16)] = 0

    @property
    def vocabulary(self) -> int:
        return 12

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        made = self.test_batch(rng, size, length)
        if not self.spare or made.coupled is None:
            return made
        return Batch(made.tokens, made.targets, made.coupled + rng.integers(0, self.spare, (size, 1), endpoint=True))

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        first, second = rng.integers(0, 10, (2, size, length))
        plus, equals = (np.full((size, 1), sign) for sign in (PLUS, EQUALS))
        batch = question_and_answer(np.concatenate([first, plus, second, equals], 1), reversed_sum(first, second))
        ids = coupled(length, length, length + 1)[: batch.tokens.shape[1]]
        return Batch(batch.tokens, batch.targets, np.broadcast_to(ids, batch.tokens.shape))

    def tokens_at(self, length: int) -> int:
        return 3 * length + 2 + self.spare


def reversed_sum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Digits of the sums, least significant first, one more than each number has; any number of digits.

    Example:
        >>> reversed_sum(np.array([[9, 9]]), np.array([[0, 1]])).tolist()
        [[0, 0, 1]]
    """
    carry, digits = np.zeros(len(first), np.int64), []
    for one, other in zip(first.T[::-1], second.T[::-1], strict=True):
        total = one + other + carry
        carry = total // 10
        digits.append(total % 10)
    return np.stack([*digits, carry], 1)


ROW = TaskRow(
    "addition",
    Addition,
    "Which digits belong together?",
    "Kazemnejad et al. 2023, arXiv:2305.19466; coupled ids: Cho et al. 2024, arXiv:2405.20671",
    ("decoder",),
    length=8,
    test_lengths=(8, 12, 16, 24),
    steps=3000,
    unit="digits",
    metric="exact",
)
