"""Experiments of the tour: six encodings on one text, and what the lesson shows of each model. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc import parse
from posenc.core.doors import Encoding
from posenc.encodings.rotates.rope import RoPE
from posenc.lab.comparison.comparison_plan import ENCODING_RATE, six
from posenc.lab.eight_bits import EightBitModel
from posenc.lab.engines import local
from posenc.lab.engines.events import Event, Failure, Job
from posenc.lab.experiment import Experiment
from posenc.lab.result import Result
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.language import SubwordLM
from posenc.lab.tasks.task_table import experiment

NAMES = ("none", "sinusoidal", "learned", "rotary", "ALiBi", "T5")
TASK = "bpe-lm"
#: At this size a peak rate of 0.006 is stable and learns fast for all six.
RATE = 6e-3
#: Pieces that the text is cut into, and the lengths that are measured: the training length, twice and four times that.
PIECES, LENGTHS = 512, (64, 128, 256)
#: Held-out tokens for each token of the longest context, at least.
SPARE = 1.5
#: How many context lengths and held-out windows are measured.
CONTEXTS, WINDOWS = 16, 192


@dataclass(frozen=True, eq=False)
class ScaledLosses:
    """Losses of a trained rotary model whose frequencies are scaled for a longer context, without any more training.

    Args:
        way: Name of the way, as the extension study has it.
        factor: How many times the trained length it is made for.
        encoding: The scaled encoding.
        contexts: Tokens of context at which losses are measured.
        losses: Mean loss of the same last tokens of each held-out window, (windows, contexts).
    """

    way: str
    factor: float
    encoding: RoPE
    contexts: tuple[int, ...]
    losses: np.ndarray


@dataclass(frozen=True, eq=False)
class TourModel:
    """Trained model of the tour, as the lesson shows it.

    Args:
        name: Of the encoding, shown to the reader.
        result: Of the experiment.
        losses: Mean loss of the same last tokens of each held-out window at growing contexts, (windows, contexts).
        sample: Token numbers of generated text.
        rounded: Weights for a page that runs the model.
        scaled: Losses with scaled frequencies, of a rotary model; the first are those of the unchanged encoding.
    """

    name: str
    result: Result
    losses: np.ndarray
    sample: tuple[int, ...]
    rounded: EightBitModel
    scaled: tuple[ScaledLosses, ...] = ()

    @property
    def experiment(self) -> Experiment:
        """The run."""
        return self.result.experiment

    @property
    def encoding(self) -> Encoding:
        """The encoding that was trained."""
        encoding: Encoding = parse.record(self.experiment.encoding)
        return encoding

    def at(self, context: int) -> np.ndarray:
        """Loss of every window with a context of so many tokens, (windows,)."""
        return np.asarray(self.losses[:, contexts(self.experiment).index(context)])


def contexts(experiment: Experiment) -> tuple[int, ...]:
    """Context lengths that are measured, in equal steps up to the longest.

    Example:
        >>> contexts(Experiment("RoPE(dim=16)", "bpe-lm", test_lengths=(64, 256)))[:3]
        (16, 32, 48)
    """
    longest = experiment.test_lengths[-1]
    return tuple(longest * part // CONTEXTS for part in range(1, CONTEXTS + 1))


def tour_experiments(text: str, steps: int, seed: int = 0) -> dict[str, Experiment]:
    """Plan the six runs of the tour on a text: NoPE, sinusoidal, learned, rotary, ALiBi and T5.

    The learned table has a row for each position of training and no more: beyond, its last row is used (clamp).

    Args:
        text: A file, or "" for the English that ships with Python.
        steps: Of training.
        seed: Of the weights, the data and the generated text.

    Returns:
        The six experiments by the names of their encodings.

    Raises:
        ValueError: There is no such text, or it is too short; the message names `text`.
    """
    options = (*text_options(text), ("vocabulary_size", PIECES))
    fields = {"rate": RATE, "steps": steps, "length": LENGTHS[0], "test_lengths": LENGTHS}
    blank = experiment("any", TASK, seed, **fields, options=(*options, *_held_out(options)))
    encodings = six(blank.width, blank.heads, blank.length, causal=True)
    return {
        name: experiment(
            repr(encoding),
            TASK,
            seed,
            **fields,
            options=blank.options,
            encoding_rate=ENCODING_RATE if encoding.shapes else 1.0,
        )
        for name, encoding in zip(NAMES, encodings, strict=True)
    }


def _held_out(options: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, float], ...]:
    """Option that holds out more of a short text than usual, enough for the longest context."""
    corpus = SubwordLM(**dict(options)).corpus
    tokens, needed = len(corpus.train) + len(corpus.held_out), int(SPARE * LENGTHS[-1])
    if tokens < 2 * needed:
        raise ValueError(
            f"text must give at least {2 * needed} tokens; got {tokens}. Give a longer text, with less repetition."
        )
    return () if len(corpus.held_out) >= needed else (("held_out", math.ceil(100 * needed / tokens) / 100),)


def run_tour(experiments: Mapping[str, Experiment], workers: int | None = None) -> Generator[Event, None, None]:
    """Train all models of the tour in worker processes.

    Args:
        experiments: By name.
        workers: How many at a time; one for each core where None.

    Yields:
        Reports as they come, `Progress` and at last a `TourModel` for each.

    Raises:
        RuntimeError: A training failed; the message names the encoding.
    """
    names = list(experiments)
    jobs = [Job(name, "posenc.lab.engines.events:train_tour_model", (name, experiments[name])) for name in names]
    for event in local.run(jobs, workers):
        if isinstance(event.report, Failure):
            raise RuntimeError(f"training {names[event.job]} failed: {event.report.message}")
        yield event
