"""Batches as models take them, and the positions that samplers give their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from posenc.lab.experiment import Sampler
from posenc.lab.models.transformer import Transformer
from posenc.lab.tasks.task import NOTHING, Batch
from posenc.positions import randomised, shifted


@dataclass(frozen=True, eq=False)
class Example:
    """A batch as tensors.

    Args:
        tokens: (batch, n).
        targets: (batch, n), `NOTHING` where nothing is predicted.
        positions: (n,) or (batch, n); 0, 1, … where None.
        source: (batch, m), what the encoder reads.
        source_positions: (m,) or (batch, m); 0, 1, … where None.
        visible: (batch, m), False for the padding of the source.
    """

    tokens: Tensor
    targets: Tensor
    positions: Tensor | None = None
    source: Tensor | None = None
    source_positions: Tensor | None = None
    visible: Tensor | None = None

    def logits(self, model: Transformer) -> Tensor:
        """Logits of a model at each token, (batch, n, vocabulary)."""
        return model(self.tokens, self.positions, memory=self.memory(model), visible=self.visible)

    def memory(self, model: Transformer) -> Tensor | None:
        """Output of the model's encoder for the source, or None without a source."""
        if self.source is None:
            return None
        return model.read(self.source, self.source_positions, self.visible)

    def loss(
        self, model: Transformer, *, label_smoothing: float = 0.0, reduction: Literal["mean", "sum"] = "mean"
    ) -> Tensor:
        """Cross entropy of the predicted tokens in nats, their mean or sum."""
        return cross_entropy(
            self.logits(model).flatten(0, 1),
            self.targets.flatten(),
            ignore_index=NOTHING,
            label_smoothing=label_smoothing,
            reduction=reduction,
        )

    @property
    def predicted(self) -> int:
        """Number of tokens that are predicted."""
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
    """Convert a batch to tensors on a device."""

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


def sampled_positions(
    sampler: Sampler,
    tokens: np.ndarray,
    coupled: np.ndarray | None,
    limit: int,
    rng: np.random.Generator,
    *,
    training: bool,
) -> np.ndarray | None:
    """Positions of a batch's tokens.

    "offset" starts each training sequence anywhere from 0 such that it ends before `limit`, and each test sequence at 0
    (Kiyono et al. 2021, arXiv:2109.05644). "randomised" draws rising positions below `limit` in training and tests
    (Ruoss et al. 2023, arXiv:2305.16843). "coupled" are those of the task.

    Args:
        sampler: The rule.
        tokens: Shape (batch, n).
        coupled: The position ids of the task, shape (batch, n), or None.
        limit: No position reaches this number.
        rng: Draws them.
        training: Whether the batch is trained on.

    Returns:
        Shape (batch, n); None for 0, 1, ….

    Example:
        >>> sampled_positions("offset", np.zeros((2, 4)), None, 9, np.random.default_rng(0), training=True).tolist()
        [[5, 6, 7, 8], [3, 4, 5, 6]]
    """
    rows, count = tokens.shape
    if sampler == "coupled":
        return coupled
    if sampler == "randomised":
        return randomised(count, max(limit, count), rng, rows=rows)
    if sampler == "offset" and training:
        start = np.broadcast_to(np.arange(count), (rows, count))
        return np.asarray(shifted(start, max(0, limit - count), rng))
    return None
