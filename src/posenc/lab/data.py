"""Text as training data: a part to learn from, a part held out, and batches drawn from the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posenc.core import validation


@dataclass(frozen=True, eq=False)
class Corpus:
    """Token numbers to learn from and token numbers held out.

    Args:
        train: Shape (tokens,), int64.
        held_out: Shape (tokens,), int64.
        vocabulary: How many different tokens there are.
    """

    train: np.ndarray
    held_out: np.ndarray
    vocabulary: int


@dataclass(frozen=True)
class Seeds:
    """Three streams of random numbers from one seed, so that no draw for one purpose moves another.

    Args:
        weights: Seed of the initial weights.
        batches: Seed of the order of the data.
        samples: Seed of generated text and of test data.
    """

    weights: int
    batches: int
    samples: int


def seeds(seed: int) -> Seeds:
    """Derive the three streams of a run from its seed.

    Args:
        seed: From 0 to 2**63 - 1.

    Returns:
        The streams.

    Raises:
        ValueError: `seed` is out of range.
        TypeError: `seed` is no integer.

    Example:
        >>> seeds(0) == seeds(0), seeds(0).weights == seeds(1).weights
        (True, False)
    """
    seed = validation.integer("seed", seed, 0, 2**63 - 1)
    words = (child.generate_state(1, np.uint64)[0] for child in np.random.SeedSequence(seed).spawn(3))
    return Seeds(*(int(word) >> 1 for word in words))


def split(tokens: np.ndarray, vocabulary: int, *, longest: int, share: float = 0.1) -> Corpus:
    """Hold out the end of a text.

    Args:
        tokens: Token numbers, shape (tokens,).
        vocabulary: How many different tokens there are.
        longest: The longest context to measure at; at least one and a half of it are held out.
        share: The share of the text that is held out, unless `longest` needs more.

    Returns:
        The corpus.

    Raises:
        ValueError: The text is too short to learn from what is left.
    """
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
    """Draw windows of a text at random places, each target the next token.

    The stream depends on these arguments alone, so that every encoding reads the same.

    Args:
        tokens: Token numbers, shape (tokens,).
        length: Tokens of a window.
        batch: Windows of a batch.
        steps: How many batches to draw.
        seed: Of the places.

    Yields:
        Inputs and targets, each of shape (batch, length).
    """
    rng = np.random.default_rng(seed)
    offsets = np.arange(length)
    for _ in range(steps):
        indices = rng.integers(0, len(tokens) - length, size=(batch, 1)) + offsets
        yield tokens[indices], tokens[indices + 1]


def masked(
    inputs: np.ndarray, blank: int, rng: np.random.Generator, share: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """Blank some inputs, as an encoder is trained (Devlin et al. 2019, arXiv:1810.04805, §3.1).

    At least one token a row is blanked, so that every batch has something to learn.

    Args:
        inputs: Token numbers, shape (batch, n).
        blank: The token that stands in place of a blanked one.
        rng: Draws which tokens are blanked.
        share: How many of them.

    Returns:
        The inputs with blanks, and targets: the blanked tokens, -100 elsewhere.
    """
    hidden = rng.random(inputs.shape) < share
    hidden[np.arange(len(inputs)), rng.integers(0, inputs.shape[1], len(inputs))] = True
    return np.where(hidden, blank, inputs), np.where(hidden, inputs, -100)
