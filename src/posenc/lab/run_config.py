"""Everything that names a run, as records of plain numbers, and what a run gives back. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from posenc import _check
from posenc.doors import Encoding


@dataclass(frozen=True)
class Shape:
    """The size of a transformer. causal: a decoder; otherwise an encoder, which sees both ways."""

    vocabulary: int
    width: int = 64
    heads: int = 4
    layers: int = 2
    causal: bool = True

    def __post_init__(self) -> None:
        _check.settle(
            self,
            vocabulary=_check.integer("vocabulary", self.vocabulary, 2, 1 << 20),
            width=_check.integer("width", self.width, 1, 1 << 14),
            heads=_check.integer("heads", self.heads, 1, 1 << 10),
            layers=_check.integer("layers", self.layers, 1, 1 << 10),
            causal=_check.truth("causal", self.causal),
        )
        if self.width % self.heads:
            raise ValueError(f"heads must divide width={self.width}; got {self.heads}. Choose another number of heads.")


@dataclass(frozen=True)
class Recipe:
    """How a model is trained and measured; the same for every encoding that is compared.

    length: tokens a training window holds; `reach` times as many are the longest context it is measured at.
    rate: the peak learning rate, reached after `warmup` steps, falling by a cosine to a tenth (AdamW, betas 0.9, 0.98).
    bins, windows: how many context lengths are measured, each on the last length·reach/bins tokens of so many windows.
    sample: tokens to generate, so that a text longer than any in training is seen.
    """

    steps: int
    seed: int = 0
    length: int = 64
    batch: int = 32
    rate: float = 2e-3
    warmup: int = 50
    reach: int = 4
    bins: int = 16
    windows: int = 192
    sample: int = 160
    temperature: float = 0.8
    width: int = 64
    heads: int = 4
    layers: int = 2
    causal: bool = True

    def __post_init__(self) -> None:
        for name, least in (
            ("steps", 1),
            ("length", 2),
            ("batch", 1),
            ("warmup", 0),
            ("reach", 1),
            ("bins", 1),
            ("windows", 1),
        ):
            _check.settle(self, **{name: _check.integer(name, getattr(self, name), least, 10**7)})
        _check.settle(
            self,
            seed=_check.integer("seed", self.seed, 0, 2**63 - 1),
            rate=_check.real("rate", self.rate, 0.0, 1.0, above=True),
            sample=_check.integer("sample", self.sample, 0, 10**6),
            temperature=_check.real("temperature", self.temperature, 0.0, 100.0, above=True),
        )
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
class Contestant:
    """An encoding in a comparison. pace: its own parameters learn at `pace` times the model's rate."""

    name: str
    encoding: Encoding
    pace: float = 1.0

    def __post_init__(self) -> None:
        _check.instance("encoding", self.encoding, Encoding, "the record of an encoding")
        _check.settle(self, pace=_check.real("pace", self.pace, 0.0, 1e4))


@dataclass(frozen=True)
class Progress:
    """Steps done, and the mean training loss (nats a token) since the last report."""

    step: int
    loss: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run gave.

    curve: (step, mean training loss since the step before).    sample: token numbers of generated text.
    losses: mean loss of the same last tokens of each held-out window at growing contexts; shape (windows, bins).
    parameters, learned: how many the model has, and how many of them are the encoding's.
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
