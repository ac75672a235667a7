"""The count divided by the length."""

from __future__ import annotations

import numpy as np

from posenc import NormalisedCount
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    short, long = (float(NormalisedCount(length=length).embed(np.array([1]))[0, 0]) for length in (2, 4))
    return short != long, {"second of two words": short, "second of four": long}


CLAIM = computed(
    compute,
    statement=(
        "A count divided by the length gives the same position different values in sentences of different length."
    ),
    sources=("notes",),
    rule="The second word of two and of four: supported if the values differ.",
    note="The same position has another value in a sentence of another length.",
)
