"""What a model reads: a text cut into a part to learn from and a part held out, and batches drawn from the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posenc.core import validation


@dataclass(frozen=True, eq=False)
class Corpus:
    """Token numbers to learn from and token numbers held out; each (tokens,), int64."""

    train: np.ndarray
    held_out: np.ndarray
    vocabulary: int


@dataclass(frozen=True)
class Seeds:
    """Three streams from one seed, so that no draw for one purpose moves another."""

    weights: int
    batches: int
    samples: int


def seeds(seed: int) -> Seeds:
    """The streams of a run: initial weights, order of the data, generated text.

    Example:
        >>> seeds(0) == seeds(0), seeds(0).weights == seeds(1).weights
        (True, False)
    """
    seed = validation.integer("seed", seed, 0, 2**63 - 1)
    words = (child.generate_state(1, np.uint64)[0] for child in np.random.SeedSequence(seed).spawn(3))
    return Seeds(*(int(word) >> 1 for word in words))


def split(tokens: np.ndarray, vocabulary: int, *, longest: int, share: float = 0.1) -> Corpus:
    """The last tenth of a text held out, or more of a short text: enough to measure at contexts of `longest` tokens."""
    held_out = max(int(len(tokens) * share), longest + longest // 2)
    if len(tokens) < 2 * held_out:
        raise ValueError(
            f"text must give at least {2 * (longest + longest // 2)} tokens; got {len(tokens)}. Give a longer text, "
            "with less repetition."
        )
    return Corpus(tokens[:-held_out], tokens[-held_out:], vocabulary)


def batches(
    tokens: np.ndarray, length: int, batch: int, steps: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """`steps` pairs (inputs, targets) of shape (batch, length).

    Windows at random places, each target the next token.

    The stream depends on these arguments alone, so that every encoding reads the same.
    """
    rng = np.random.default_rng(seed)
    offsets = np.arange(length)
    for _ in range(steps):
        indices = rng.integers(0, len(tokens) - length, size=(batch, 1)) + offsets
        yield tokens[indices], tokens[indices + 1]


def masked(
    inputs: np.ndarray, blank: int, rng: np.random.Generator, share: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """The task of an encoder (Devlin et al. 2019, arXiv:1810.04805, §3.1).

    (inputs with blanks, what stood there or -100).

    At least one token a row is blanked, so that every batch has something to learn.
    """
    hidden = rng.random(inputs.shape) < share
    hidden[np.arange(len(inputs)), rng.integers(0, inputs.shape[1], len(inputs))] = True
    return np.where(hidden, blank, inputs), np.where(hidden, inputs, -100)
