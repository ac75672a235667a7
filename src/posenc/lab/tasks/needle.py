"""Find a fact in a long text of other things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Real, Whole
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow


@dataclass(frozen=True)
class Needle(Task):
    """Say the value of a key that stands somewhere in a text of fillers.

    There are `needles` keys, each followed by its value, and at the end a question and one of the keys. Length counts
    all tokens; it must hold the needles and the question.

    Args:
        depth: Where the key that is asked for stands in tests, 0 at the start and 1 at the end of the text; -1 for all
            depths in equal steps, by which the losses of a score are then binned. In training it stands anywhere.
        needles: Keys in the text.
        keys: How many different keys there are.
        values: How many different values there are.
        fillers: How many different fillers there are.
    """

    depth: Annotated[float, Real(-1.0, 1.0)] = -1.0
    needles: Annotated[int, Whole(1, 1 << 8)] = 4
    keys: Annotated[int, Whole(1, 1 << 10)] = 16
    values: Annotated[int, Whole(2, 1 << 10)] = 16
    fillers: Annotated[int, Whole(1, 1 << 10)] = 16

    def _check_together(self) -> None:
        if self.needles > self.keys:
            raise ValueError(f"needles must be at most the {self.keys} keys; got {self.needles}. Ask for fewer.")
        if -1.0 < self.depth < 0.0:
            raise ValueError(f"depth must be from 0 to 1, or -1 for anywhere; got {self.depth}. Use one of these.")

    @property
    def vocabulary(self) -> int:
        return self.values + self.keys + self.fillers + 1

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        return self._drawn(rng, size, length, None)

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        depths = np.linspace(0.0, 1.0, size) if self.depth < 0 else np.full(size, self.depth)
        return self._drawn(rng, size, length, depths)

    def _drawn(self, rng: np.random.Generator, size: int, length: int, depths: np.ndarray | None) -> Batch:
        room = (length - 2) // 2  # pairs of tokens before the question
        if room < self.needles:
            raise ValueError(
                f"length must be at least {2 * self.needles + 2} for {self.needles} needles; got {length}. Ask for a "
                "longer text."
            )
        tokens = self.values + self.keys + rng.integers(0, self.fillers, (size, length))
        slots = rng.permuted(np.broadcast_to(np.arange(room), (size, room)), axis=1)[:, : self.needles]
        if depths is not None:
            asked = np.rint(depths * (room - 1)).astype(np.int64)[:, None]
            slots = np.concatenate([asked, np.where(slots[:, 1:] == asked, slots[:, :1], slots[:, 1:])], 1)
        keys = rng.permuted(np.broadcast_to(np.arange(self.keys), (size, self.keys)), axis=1)[:, : self.needles]
        values = rng.integers(0, self.values, keys.shape)
        np.put_along_axis(tokens, 2 * slots, self.values + keys, 1)
        np.put_along_axis(tokens, 2 * slots + 1, values, 1)
        tokens[:, -2], tokens[:, -1] = self.vocabulary - 1, self.values + keys[:, 0]
        targets = np.full_like(tokens, NOTHING)
        targets[:, -1] = values[:, 0]
        return Batch(tokens, targets, about=np.broadcast_to(2 * slots[:, :1], tokens.shape))


ROW = TaskRow(
    "needle",
    Needle,
    "Where in a long text is the one fact that is asked for?",
    "the passkey of Mohtashami and Jaggi 2023, arXiv:2305.16300; length and depth as in RULER, arXiv:2404.06654",
    length=64,
    test_lengths=(64, 128, 256),
    steps=2000,
)
