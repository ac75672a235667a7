"""Say the token a fixed number of places back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow


@dataclass(frozen=True)
class FixedOffset(Task):
    """yᵢ = x₍ᵢ₋offset₎, for random x.

    Example:
        >>> batch = FixedOffset(offset=2).batch(np.random.default_rng(0), 1, 5)
        >>> bool((batch.targets[0, 2:] == batch.tokens[0, :3]).all()), batch.targets[0, :2].tolist()
        (True, [-100, -100])
    """

    offset: Annotated[int, Whole(1, 1 << 16)] = 3
    symbols: Annotated[int, Whole(2, 1 << 16)] = 16

    @property
    def vocabulary(self) -> int:
        return self.symbols

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        tokens = rng.integers(0, self.symbols, (size, length))
        targets = np.full_like(tokens, NOTHING)
        targets[:, self.offset :] = tokens[:, : max(0, length - self.offset)]
        return Batch(tokens, targets)


ROW = TaskRow(
    "fixed-offset",
    FixedOffset,
    "What stands three places back?",
    "Barbero et al. 2024, arXiv:2410.06205, §5: heads that attend to the previous token need positions",
    ("encoder", "decoder"),
    length=32,
    test_lengths=(32, 64, 128),
    steps=150,
)
