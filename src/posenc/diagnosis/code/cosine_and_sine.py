"""Cosines and sines that code returns in place of rotated vectors, as the classes of transformers do, as rotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posenc.core.rotation import Pairing, PairLayout
from posenc.diagnosis.code.user_code import UnsupportedFormError
from posenc.diagnosis.named_arrays import NamedArray
from posenc.diagnosis.rotation.evidence_from_arrays import each_frequency_once

#: How the numbers of a pair lie, and what is said of it.
NOTES = {
    "halves": (
        "It returns cosines and sines that repeat after half the width: channels i and i + d/2 are read as a pair."
    ),
    "adjacent": "It returns every cosine and sine twice in a row: channels 2i and 2i + 1 are read as a pair.",
    "once": "It returns one cosine and one sine for each pair; which two channels form a pair, they do not say.",
}


def rotations(results: Sequence[NamedArray], count: int, layout: PairLayout) -> tuple[NamedArray, str]:
    """Rotations (n, d, d) that cosines and sines of n positions stand for, and a note on how their pairs were read.

    Args:
        results: Cosines and sines, each (n, d/2), or (n, d) with every number twice.
        count: The number n of positions.
        layout: Of the pairs where every number is given once.

    Example:
        >>> angles = np.outer(range(5), [1.0, 0.1, 1.0, 0.1])
        >>> results = [NamedArray(function(angles), "float64") for function in (np.cos, np.sin)]
        >>> (values, dtype), note = rotations(results, 5, "adjacent")
        >>> values.shape, values[1, 2].round(4).tolist(), note == NOTES["halves"]
        ((5, 4, 4), [0.8415, 0.0, 0.5403, 0.0], True)
    """
    cosine, sine = (np.squeeze(each.values) for each in results)
    if cosine.shape != sine.shape or cosine.ndim != 2 or cosine.shape[0] != count:
        raise UnsupportedFormError(
            f"it returned shapes {results[0].values.shape} and {results[1].values.shape} for {count} positions. "
            "Return cosines and sines as (length, width), or the vectors with their positions in them"
        )
    cosine, sine, repeated = each_frequency_once(cosine, sine)
    return _rotations(cosine, sine, repeated or layout, results[0].dtype), NOTES[repeated or "once"]


def _rotations(cosine: np.ndarray, sine: np.ndarray, layout: PairLayout, dtype: str) -> NamedArray:
    count, dim = cosine.shape[0], 2 * cosine.shape[1]
    first, second = Pairing(layout, dim, dim).split(np.arange(dim))
    values = np.zeros((count, dim, dim))
    values[:, first, first] = values[:, second, second] = cosine
    values[:, first, second], values[:, second, first] = -sine, sine
    return NamedArray(values, dtype)
