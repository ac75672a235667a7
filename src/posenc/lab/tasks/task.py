"""Tasks: sequences with targets, drawn from a generator."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from posenc.core.declared_fields import Declared
from posenc.lab.experiment import Model

#: What a task is scored by: a field of `LengthScore`.
Metric = Literal["accuracy", "exact", "loss", "bleu"]
#: The target of a token for which nothing is predicted, as PyTorch's cross entropy has it.
NOTHING = -100


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences of one length, as int64.

    Args:
        tokens: (batch, n).
        targets: (batch, n), the answer of the model at each token; `NOTHING` where there is none.
        coupled: (batch, n), position ids that tokens which belong together share.
        about: (batch, n), the index that each target is about, by which losses are binned; its own where None.
        source: (batch, m), what an encoder reads.
        visible: (batch, m), False for its padding.
    """

    tokens: np.ndarray
    targets: np.ndarray
    coupled: np.ndarray | None = None
    about: np.ndarray | None = None
    source: np.ndarray | None = None
    visible: np.ndarray | None = None


@dataclass(frozen=True)
class Task(Declared, abc.ABC):
    """Sequences to learn from. Its fields are the options of the task, each with a default.

    Attributes:
        varies: A training batch has 1 … length items, drawn anew for each batch; otherwise `length`.
        cuttable: Targets mean the same when the start of a sequence is cut off, so that the same targets are measured
            with growing contexts.
    """

    varies: ClassVar[bool] = False
    cuttable: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def vocabulary(self) -> int:
        """Number of different tokens."""

    @property
    def tokens(self) -> int:
        """Number of different tokens that a model reads: one more, the blank of the masked language model."""
        return self.vocabulary + 1

    @abc.abstractmethod
    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        """Draw sequences to train on.

        Args:
            rng: Draws them.
            size: How many.
            length: Items of each.

        Returns:
            The batch.
        """

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        """Draw sequences to measure with, as `batch` draws those to train on."""
        return self.batch(rng, size, length)

    def tokens_at(self, length: int) -> int:
        """Most tokens that a sequence of `length` items has, in any part of the model."""
        return length

    def written(self, tokens: Sequence[int]) -> str | None:
        """Output of a model as text that BLEU compares, or None for tasks that are not measured so."""
        return None

    def require(self, length: int) -> None:
        """Check that there is data to measure with sequences of `length` items, and that they ask something.

        Raises:
            ValueError: Data is missing or too short, or `length` is.
        """

    def require_training(self, length: int) -> None:
        """Check the same of what `batch` draws from; override where training has data of its own.

        Raises:
            ValueError: Data is missing or too short, or `length` is.
        """
        self.require(length)


@dataclass(frozen=True)
class TaskRow:
    """A row of the table of tasks.

    Args:
        name: As an experiment names it.
        kind: The class.
        question: What a model must know of positions to do it.
        source: Where the task is from.
        models: Those that can do it, the usual one first.
        length: The usual training length.
        test_lengths: The usual test lengths.
        steps: The usual number of training steps.
        unit: Of lengths.
        metric: A field of `LengthScore`, the one that tells models apart.
        options: Of the task, as an experiment has them.
    """

    name: str
    kind: type[Task]
    question: str
    source: str
    models: tuple[Model, ...] = ("decoder",)
    length: int = 32
    test_lengths: tuple[int, ...] = (32, 64, 128)
    steps: int = 1000
    unit: str = "tokens"
    metric: Metric = "accuracy"
    options: tuple[tuple[str, int | float | str], ...] = ()
