"""Numbering the words."""

from __future__ import annotations

import numpy as np

from posenc import Count
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    largest = float(np.abs(Count().embed(np.array([1_000_000]))).max())
    return largest > 1000, {"at position 1,000,000": largest}


CLAIM = computed(
    compute,
    statement="A count appended to the embedding grows without bound.",
    sources=("notes",),
    rule="The value at position 1,000,000: supported if it exceeds 1000.",
    note="A count soon outgrows embeddings, whose values are near 1.",
)
