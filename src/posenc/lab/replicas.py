"""How many processes train one model, each on a part of every batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch

from posenc.lab.models.example import Example
from posenc.lab.models.transformer import Transformer

#: The loss of an example, whose gradients are those of the mean over the whole batch.
Loss = Callable[[Example], torch.Tensor]
Made = TypeVar("Made")


class Replicas(Protocol):
    """The processes that train one model.

    Args:
        rank: The number of this one; number 0 measures and reports.
    """

    rank: int
    versions: tuple[tuple[str, str], ...]

    def loss(self, model: Transformer, label_smoothing: float) -> Loss:
        """The training loss of this process's part of each example."""

    def mean(self, loss: torch.Tensor) -> float:
        """The loss of the whole batch, from those of all parts."""

    def agreed(self, make: Callable[[], Made]) -> Made:
        """What each process makes by itself; a ValueError in all of them where one cannot."""


class OneProcess:
    """This process alone."""

    rank = 0
    versions: tuple[tuple[str, str], ...] = ()

    def loss(self, model: Transformer, label_smoothing: float) -> Loss:
        return lambda example: example.loss(model, label_smoothing=label_smoothing)

    def mean(self, loss: torch.Tensor) -> float:
        return float(loss.detach())

    def agreed(self, make: Callable[[], Made]) -> Made:
        return make()
