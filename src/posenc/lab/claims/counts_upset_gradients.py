"""What a count among the inputs does to gradient descent."""

from __future__ import annotations

import numpy as np

from posenc import Count, Encoding, NormalisedCount, Sinusoidal
from posenc.lab.claims.claim import Computation, computed

LENGTH, WIDTH = 512, 64


def compute() -> Computation:
    count = _condition(Count())
    divided, waves = _condition(NormalisedCount(length=LENGTH)), _condition(Sinusoidal(dim=2))
    return count > 100 * waves, {"count": count, "count divided by the length": divided, "sine and cosine": waves}


def _condition(encoding: Encoding) -> float:
    """The largest over the smallest eigenvalue of the inputs' second moments: the curvatures of least squares."""
    embeddings = np.random.default_rng(0).normal(size=(LENGTH, WIDTH))
    inputs = np.concatenate([embeddings, encoding.embed(np.arange(LENGTH))], 1)  # type: ignore[attr-defined]
    return float(np.linalg.cond(inputs.T @ inputs / LENGTH))


CLAIM = computed(
    compute,
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
