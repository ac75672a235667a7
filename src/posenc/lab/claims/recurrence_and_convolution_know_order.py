"""Networks that need no encoding."""

from __future__ import annotations

import numpy as np

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    rng = np.random.default_rng(0)
    words = rng.normal(size=(3, 8))
    a, b, c = rng.normal(size=(3, 8, 8)) / 3

    def recurrent(x: np.ndarray) -> np.ndarray:
        state, states = np.zeros(8), []
        for row in x:
            state = np.tanh(row @ a + state @ b)
            states.append(state)
        return np.array(states)

    def convolved(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((1, 1), (0, 0)))
        summed: np.ndarray = padded[:-2] @ a + padded[1:-1] @ b + padded[2:] @ c
        return summed

    figures = {
        name: float(np.abs(network(words)[0] - network(words[::-1])[2]).max())
        for name, network in (("recurrent", recurrent), ("convolution", convolved))
    }
    return min(figures.values()) > 1e-3, figures


CLAIM = computed(
    compute,
    statement="Recurrent and convolutional networks know the order of their input without an encoding.",
    sources=("lecture", "article", "notes"),
    rule=(
        "The output of a word of three in two orders through a random cell and a kernel of 3: supported if it differs "
        "by more than 0.001 in both."
    ),
    note="Both give the first word another output once it stands last.",
)
