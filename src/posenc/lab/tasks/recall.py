"""Say what stood next to an earlier occurrence of the same key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.lab.tasks.cued import naming
from posenc.lab.tasks.task import Batch, Task, TaskRow


@dataclass(frozen=True)
class Last(Task):
    """Each token is a key with a value: yᵢ = the value at the last earlier token with the key of i.

    Tokens: the values as they are said, then each key with each value.
    """

    keys: Annotated[int, Whole(1, 1 << 10)] = 8
    values: Annotated[int, Whole(2, 1 << 10)] = 16

    @property
    def vocabulary(self) -> int:
        return self.values * (1 + self.keys)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        keys, values = rng.integers(0, self.keys, (size, length)), rng.integers(0, self.values, (size, length))
        return naming(values, keys, self.earlier(keys), self.values)

    def earlier(self, keys: np.ndarray) -> np.ndarray:
        """The index of the earlier token that is meant, -1 where there is none; (batch, n)."""
        same = (keys[:, :, None] == np.arange(self.keys)) * np.arange(1, keys.shape[1] + 1)[:, None]
        latest = np.maximum.accumulate(same, 1)
        before = np.concatenate([np.zeros_like(latest[:, :1]), latest[:, :-1]], 1)
        return np.take_along_axis(before, keys[..., None], 2)[..., 0] - 1


@dataclass(frozen=True)
class First(Last):
    """As `Last`, with the value at the first token that has the key of i."""

    def earlier(self, keys: np.ndarray) -> np.ndarray:
        first = (keys[:, :, None] == np.arange(self.keys)).argmax(1)
        index = np.take_along_axis(first, keys, 1)
        return np.where(index < np.arange(keys.shape[1]), index, -1)


_SOURCE = "the recall of a key with its value (Arora et al. 2023, arXiv:2312.04927), with repeated keys"
ROWS = (
    TaskRow("last", Last, "Which came last?", _SOURCE, ("decoder",), 32, (32, 64, 128), 1000),
    TaskRow("first", First, "Which came first?", _SOURCE, ("decoder",), 32, (32, 64, 128), 1000),
)
