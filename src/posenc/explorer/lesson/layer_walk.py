"""A layer small enough to follow by hand: three words, four channels, one head, weights of one decimal."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.core.text_lines import short
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.browser_frequencies import browser_frequencies, browser_sinusoids
from posenc.phase import fixed_sinusoids_of

WORDS = ("dog", "bites", "man")
WIDTH = 4
ADDED, ROTATED = Sinusoidal(dim=WIDTH), RoPE(dim=WIDTH)
SEED = 2


def layer_walk() -> dict[str, Any]:
    """Embeddings and matrices of the layer, and the positions of both encodings; vectors are rows, q = x·W."""
    embeddings, *matrices = _numbers()
    return {
        "words": WORDS,
        "E": embeddings.tolist(),
        "W": {name: matrix.tolist() for name, matrix in zip("qkv", matrices, strict=True)},
        "added": {"encoding": short(ADDED), "sinusoids": browser_sinusoids(fixed_sinusoids_of(ADDED), WIDTH)},
        "rotated": {"encoding": short(ROTATED), "frequencies": browser_frequencies(ROTATED.frequencies)},
    }


def _numbers() -> list[np.ndarray]:
    rng = np.random.default_rng(SEED)
    shapes = ((len(WORDS), WIDTH), *((WIDTH, WIDTH),) * 3)
    return [np.round(rng.standard_normal(shape), 1) + 0.0 for shape in shapes]
