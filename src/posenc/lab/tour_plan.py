"""Candidates of the tour: six encodings, how they are trained, and what comes out. Loads no torch."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Declared, Instance, Real, Whole
from posenc.core.doors import Encoding
from posenc.lab.comparison.comparison_plan import six
from posenc.lab.data import Corpus
from posenc.lab.eight_bits import EightBitModel
from posenc.lab.engines import local
from posenc.lab.engines.events import Event, Failure, Job
from posenc.lab.experiment import Shape
from posenc.lab.result import Progress

Counted = Annotated[int, Whole(1, 10**7)]
#: The rate of an encoding's own parameters, as a multiple of the model's.
LR_MULTIPLIER = 10.0


@dataclass(frozen=True)
class TrainingRecipe(Declared):
    """Training and measurement, the same for every encoding that is compared.

    Args:
        steps: Training steps.
        seed: Of the weights, the data and the generated text.
        length: Tokens a training window holds.
        batch: Windows of a training step.
        rate: The peak learning rate, reached after `warmup` steps, falling by a cosine to a tenth (AdamW, betas 0.9,
            0.98).
        warmup: Steps up to the peak rate.
        reach: The longest context that is measured, as a multiple of `length`.
        bins: How many context lengths are measured, each on the last length·reach/bins tokens of the windows.
        windows: How many held-out windows are measured.
        sample: Tokens to generate, so that a text longer than any in training is seen.
        temperature: Of the generated text.
        width: Channels of the model.
        heads: Heads of the model.
        layers: Layers of the model.
        causal: A decoder; otherwise an encoder, which sees both ways.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
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
class Candidate(Declared):
    """An encoding in the comparison of the tour.

    Args:
        name: Shown to the reader.
        encoding: Of any door.
        lr_multiplier: The encoding's own parameters learn at this multiple of the model's rate.
    """

    name: str
    encoding: Annotated[Encoding, Instance("an encoding")]
    lr_multiplier: Annotated[float, Real(0.0, 1e4)] = 1.0


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """Outcome of a candidate's training.

    Args:
        candidate: The encoding that was trained.
        curve: (step, mean training loss since the step before).
        losses: Mean loss of the same last tokens of each held-out window at growing contexts; shape (windows, bins).
        sample: Token numbers of generated text.
        parameters: How many the model has.
        learned: How many of them are the encoding's.
        seconds: Of processor time.
        rounded: Weights for a page that runs the model; None where they are not finite.
    """

    candidate: Candidate
    curve: tuple[Progress, ...]
    losses: np.ndarray
    sample: tuple[int, ...]
    parameters: int
    learned: int
    seconds: float = field(default=0.0)
    rounded: EightBitModel | None = None

    def at(self, share: float) -> np.ndarray:
        """Loss of every window at a share of the longest context.

        Args:
            share: From 0 to 1.

        Returns:
            Shape (windows,).
        """
        return np.asarray(self.losses[:, round(share * self.losses.shape[1]) - 1])


def tour_candidates(recipe: TrainingRecipe) -> tuple[Candidate, ...]:
    """None, sinusoidal, learned, rotary, ALiBi and T5, for a model of the recipe's size.

    The learned table has a row for each position of training and no more: beyond, its last row is used (clamp).
    Parameters of an encoding learn at ten times the model's rate: at the model's own, small tables hardly move in a
    short training.

    Args:
        recipe: Says the size of the model and the trained length.

    Returns:
        The six candidates.
    """
    names = ("none", "sinusoidal", "learned", "rotary", "ALiBi", "T5")
    encodings = six(recipe.width, recipe.heads, recipe.length, causal=True)
    return tuple(
        Candidate(name, encoding, LR_MULTIPLIER if encoding.shapes else 1.0)
        for name, encoding in zip(names, encodings, strict=True)
    )


def run_candidates(
    candidates: Sequence[Candidate], corpus: Corpus, recipe: TrainingRecipe, workers: int | None = None
) -> Generator[Event, None, None]:
    """Train all candidates in worker processes.

    Args:
        candidates: The encodings.
        corpus: The text.
        recipe: How each is trained.
        workers: How many at a time; one for each core where None.

    Yields:
        Reports as they come, `Progress` and at last a `TrainingOutcome` for each.

    Raises:
        RuntimeError: A training failed; the message names the candidate.
    """
    jobs = [Job(each.name, "posenc.lab.engines.events:train_candidate", (each, corpus, recipe)) for each in candidates]
    for event in local.run(jobs, workers):
        if isinstance(event.report, Failure):
            raise RuntimeError(f"training {candidates[event.job].name} failed: {event.report.message}")
        yield event
