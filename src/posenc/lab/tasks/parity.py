"""Whether the number of ones so far is odd: hard for every transformer, whatever its positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.lab.tasks.task import Batch, Task, TaskRow


@dataclass(frozen=True)
class Parity(Task):
    """yᵢ = (x₀ + … + xᵢ) mod 2, for random bits.

    Example:
        >>> batch = Parity().batch(np.random.default_rng(0), 1, 6)
        >>> batch.tokens[0].tolist(), batch.targets[0].tolist()
        ([1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 1, 1])
    """

    @property
    def vocabulary(self) -> int:
        return 2

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        bits = rng.integers(0, 2, (size, length))
        return Batch(bits, bits.cumsum(1) % 2)


ROW = TaskRow(
    "parity",
    Parity,
    "Is the number of ones odd? A control: no encoding should generalise here.",
    "Hahn 2020, arXiv:1906.06755; Kazemnejad et al. 2023, arXiv:2305.19466",
    ("decoder",),
    length=20,
    test_lengths=(20, 40, 80),
    steps=1000,
)
