"""Random numbers of a run, and tokens that are blanked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import validation


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


def masked(
    inputs: np.ndarray, blank: int, rng: np.random.Generator, share: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """Blank a share of the inputs for masked language modelling (after Devlin et al. 2019, arXiv:1810.04805, §3.1).

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
