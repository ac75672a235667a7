"""Claims on numbering words, and on a single wave in place of numbers."""

from __future__ import annotations

import numpy as np

from posenc import Count, Encoding, NormalisedCount, OneSine, Sinusoidal
from posenc.inspect import properties
from posenc.lab.claims.claim import Computation, computed

LENGTH, WIDTH = 512, 64


@computed(
    statement="A count appended to the embedding grows without bound.",
    sources=("notes",),
    rule="The value at position 1,000,000: supported if it exceeds 1000.",
    note="A count soon outgrows embeddings, whose values are near 1.",
)
def counts_grow_without_bound() -> Computation:
    """Numbering the words."""
    largest = float(np.abs(Count().embed(np.array([1_000_000]))).max())
    return largest > 1000, {"at position 1,000,000": largest}


@computed(
    statement=(
        "A count divided by the length gives the same position different values in sentences of different length."
    ),
    sources=("notes",),
    rule="The second word of two and of four: supported if the values differ.",
    note="The same position has another value in a sentence of another length.",
)
def normalised_counts_are_inconsistent() -> Computation:
    """The count divided by the length."""
    short, long = (float(NormalisedCount(length=length).embed(np.array([1]))[0, 0]) for length in (2, 4))
    return short != long, {"second of two words": short, "second of four": long}


def _condition(encoding: Encoding) -> float:
    """Largest over smallest eigenvalue of the inputs' second moments: the curvatures of least squares."""
    embeddings = np.random.default_rng(0).normal(size=(LENGTH, WIDTH))
    inputs = np.concatenate([embeddings, encoding.embed(np.arange(LENGTH))], 1)  # type: ignore[attr-defined]
    return float(np.linalg.cond(inputs.T @ inputs / LENGTH))


@computed(
    statement="Counts among the inputs upset the gradients of training.",
    sources=("notes",),
    rule=(
        "A linear layer reads 64 standard normal channels and, next to them, the position, from 0 to 511: supported if "
        "the condition number of least squares, which says how many steps gradient descent needs, is more than 100 "
        "times as large with the count as with one sine and cosine."
    ),
    note=(
        "Gradient descent needs about as many steps as this number: the count's weight overshoots at a rate at which "
        "the others hardly move. Its size does so, not its jumps: divided by the length, it is harmless."
    ),
)
def counts_upset_gradients() -> Computation:
    """Conditioning of gradient descent with a count among the inputs."""
    count = _condition(Count())
    divided, waves = _condition(NormalisedCount(length=LENGTH)), _condition(Sinusoidal(dim=2))
    return count > 100 * waves, {"count": count, "count divided by the length": divided, "sine and cosine": waves}


@computed(
    statement="One sine gives nearly the same value to different positions.",
    sources=("notes",),
    rule="The closest two of positions 0 to 1000: supported if they differ by less than 10^-6.",
    note="No two values are equal, but two differ by less than a float32 can tell apart near 1.",
)
def one_sine_collides() -> Computation:
    """A single sine as an encoding."""
    nearest = properties(OneSine(), 1001)
    figures = {
        "first position": nearest.closest[0],
        "second position": nearest.closest[1],
        "difference": nearest.distance,
    }
    return nearest.distance < 1e-6, figures


@computed(
    statement="One pair of sine and cosine still brings some positions close together, so more pairs are needed.",
    sources=("notes",),
    rule="The closest two of positions 0 to 1000 in the plane of one pair: supported if they are nearer than 0.001.",
    note=(
        "710 steps are almost exactly 113 turns (710 / 113 = 2π to 4·10^-7), so every position nearly meets the one "
        "710 further."
    ),
)
def one_pair_nearly_collides() -> Computation:
    """A sine and a cosine as an encoding."""
    nearest = properties(Sinusoidal(dim=2), 1001)
    figures = {"steps apart": nearest.spacing, "distance": nearest.distance, "pairs as near": nearest.ties}
    return nearest.distance < 1e-3, figures
