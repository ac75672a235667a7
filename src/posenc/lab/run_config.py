"""Everything that names a run, as records of plain numbers, and what a run gives back. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Declared, Instance, Real, Whole
from posenc.core.doors import Encoding
from posenc.lab.result import Progress

Counted = Annotated[int, Whole(1, 10**7)]


@dataclass(frozen=True)
class Shape(Declared):
    """The size of a transformer.

    Args:
        causal: A decoder; otherwise an encoder, which sees both ways.
        reads_source: The decoder reads the output of an encoder of the same size.
        dropout: Of what is added to the residual stream.
    """

    vocabulary: Annotated[int, Whole(2, 1 << 20)]
    width: Annotated[int, Whole(1, 1 << 14)] = 64
    heads: Annotated[int, Whole(1, 1 << 10)] = 4
    layers: Annotated[int, Whole(1, 1 << 10)] = 2
    causal: bool = True
    reads_source: bool = False
    dropout: Annotated[float, Real(0.0, 0.99)] = 0.0

    def _check_together(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"heads must divide width={self.width}; got {self.heads}. Choose another number of heads.")
        if self.reads_source and not self.causal:
            raise ValueError("reads_source must be False for an encoder; got True. Use causal=True.")


@dataclass(frozen=True)
class TrainingRecipe(Declared):
    """How a model is trained and measured; the same for every encoding that is compared.

    Args:
        length: Tokens a training window holds; `reach` times as many are the longest context it is measured at.
        rate: The peak learning rate, reached after `warmup` steps, falling by a cosine to a tenth (AdamW, betas 0.9,
            0.98).
        bins: How many context lengths are measured, each on the last length·reach/bins tokens of so many windows.
        windows: How many context lengths are measured, each on the last length·reach/bins tokens of so many windows.
        sample: Tokens to generate, so that a text longer than any in training is seen.
    """

    steps: Counted
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 0
    length: Annotated[int, Whole(2, 10**7)] = 64
    batch: Counted = 32
    rate: Annotated[float, Real(0.0, 1.0, above=True)] = 2e-3
    warmup: Annotated[int, Whole(0, 10**7)] = 50
    reach: Counted = 4
    bins: Counted = 16
    windows: Counted = 192
    sample: Annotated[int, Whole(0, 10**6)] = 160
    temperature: Annotated[float, Real(0.0, 100.0, above=True)] = 0.8
    width: int = 64
    heads: int = 4
    layers: int = 2
    causal: bool = True

    def _check_together(self) -> None:
        if self.longest % self.bins:
            raise ValueError(
                f"bins must divide length·reach={self.longest}; got {self.bins}. Choose another number of bins."
            )

    @property
    def longest(self) -> int:
        """The longest context that is measured."""
        return self.length * self.reach

    def shape(self, vocabulary: int) -> Shape:
        """The model's size for a vocabulary."""
        return Shape(vocabulary, self.width, self.heads, self.layers, self.causal)


@dataclass(frozen=True)
class Contestant(Declared):
    """An encoding in a comparison.

    Args:
        pace: Its own parameters learn at `pace` times the model's rate.
    """

    name: str
    encoding: Annotated[Encoding, Instance("the record of an encoding")]
    pace: Annotated[float, Real(0.0, 1e4)] = 1.0


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """What a run gave.

    Args:
        curve: (step, mean training loss since the step before).
        losses: Mean loss of the same last tokens of each held-out window at growing contexts; shape (windows, bins).
        sample: Token numbers of generated text.
        parameters: How many the model has, and how many of them are the encoding's.
        learned: How many the model has, and how many of them are the encoding's.
    """

    contestant: Contestant
    curve: tuple[Progress, ...]
    losses: np.ndarray
    sample: tuple[int, ...]
    parameters: int
    learned: int
    seconds: float = field(default=0.0)

    def at(self, share: float) -> np.ndarray:
        """The loss of every window at this share of the longest context; shape (windows,)."""
        return np.asarray(self.losses[:, round(share * self.losses.shape[1]) - 1])
