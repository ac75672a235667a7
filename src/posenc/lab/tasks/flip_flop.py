"""Remember the bit that was written last, over any number of instructions to ignore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Real
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow

WRITE, READ, IGNORE = 2, 3, 4


@dataclass(frozen=True)
class FlipFlop(Task):
    """Pairs of an instruction and a bit: write, ignore, or read, after which the model says the bit last written.

    The first instruction writes and the last one reads; the others ignore with probability `ignore`, and write or read
    as often as each other. length counts instructions, two at least.
    """

    ignore: Annotated[float, Real(0.0, 1.0)] = 0.8

    @property
    def vocabulary(self) -> int:
        return 5

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        rest = (1 - self.ignore) / 2
        instructions = rng.choice([WRITE, READ, IGNORE], (size, max(2, length)), p=[rest, rest, self.ignore])
        instructions[:, 0], instructions[:, -1] = WRITE, READ
        bits = rng.integers(0, 2, instructions.shape)
        written = np.maximum.accumulate(np.where(instructions == WRITE, np.arange(instructions.shape[1]), 0), 1)
        bits = np.where(instructions == READ, np.take_along_axis(bits, written, 1), bits)
        tokens = np.stack([instructions, bits], -1).reshape(size, -1)
        targets = np.full_like(tokens, NOTHING)
        targets[:, ::2] = np.where(instructions == READ, bits, NOTHING)
        return Batch(tokens, targets)

    def tokens_at(self, length: int) -> int:
        return 2 * max(2, length)


ROW = TaskRow(
    "flip-flop",
    FlipFlop,
    "Which bit was written last?",
    "Liu et al. 2023, arXiv:2306.00946; Golovneva et al. 2024, arXiv:2405.18719, §4.1",
    ("decoder",),
    length=32,
    test_lengths=(32, 64, 128),
    steps=1000,
    unit="instructions",
    metric="exact",
)
