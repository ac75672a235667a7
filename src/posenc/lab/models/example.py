"""A batch as a model takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from posenc.lab.models.transformer import Transformer
from posenc.lab.tasks.task import NOTHING, Batch


@dataclass(frozen=True, eq=False)
class Example:
    """

    Args:
        tokens: (batch, n).
        targets: (batch, n).
        positions: (n,) or (batch, n), 0, 1, … where None.
        source: (batch, m), what the encoder reads, at `source_positions`;.
        visible: False for its padding.
    """

    tokens: Tensor
    targets: Tensor
    positions: Tensor | None = None
    source: Tensor | None = None
    source_positions: Tensor | None = None
    visible: Tensor | None = None

    def logits(self, model: Transformer) -> Tensor:
        """What the model says at each token; (batch, n, vocabulary)."""
        return model(self.tokens, self.positions, memory=self.memory(model), visible=self.visible)

    def memory(self, model: Transformer) -> Tensor | None:
        """What the encoder makes of the source."""
        if self.source is None:
            return None
        return model.read(self.source, self.source_positions, self.visible)

    def loss(
        self, model: Transformer, *, label_smoothing: float = 0.0, reduction: Literal["mean", "sum"] = "mean"
    ) -> Tensor:
        """Nats a predicted token, their mean or sum."""
        return cross_entropy(
            self.logits(model).flatten(0, 1),
            self.targets.flatten(),
            ignore_index=NOTHING,
            label_smoothing=label_smoothing,
            reduction=reduction,
        )

    @property
    def predicted(self) -> int:
        """How many tokens are predicted."""
        return int((self.targets != NOTHING).sum())

    def part(self, index: int, count: int) -> Example:
        """Every `count`-th row, from `index` on."""
        rows = {
            name: tensor if tensor is None or tensor.ndim == 1 else tensor[index::count]
            for name, tensor in vars(self).items()
        }
        return Example(**rows)


def example(
    batch: Batch, positions: np.ndarray | None = None, source_positions: np.ndarray | None = None, device: str = "cpu"
) -> Example:
    """The batch as tensors."""

    def tensor(array: np.ndarray | None) -> Tensor | None:
        return None if array is None else torch.from_numpy(np.ascontiguousarray(array)).to(device)

    tokens, targets = torch.from_numpy(batch.tokens.copy()), torch.from_numpy(np.ascontiguousarray(batch.targets))
    return Example(
        tokens.to(device),
        targets.to(device),
        tensor(positions),
        tensor(batch.source),
        tensor(source_positions),
        tensor(batch.visible),
    )
