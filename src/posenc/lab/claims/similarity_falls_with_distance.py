"""Nearby positions are similar."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import score_by_distance
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    scores = score_by_distance(Sinusoidal(dim=128), np.arange(101)).scores[0]
    rises = int((np.diff(scores) > 0).sum())
    figures = {
        "similarity at 0": scores[0],
        "at 1": scores[1],
        "at 10": scores[10],
        "at 100": scores[100],
        "steps that rise": rises,
    }
    return bool(scores[1] > scores[10] > scores[100]), figures


CLAIM = computed(
    compute,
    statement="Nearby positions have similar encodings.",
    sources=("lecture",),
    rule="PE · PE of two positions at width 128: supported if it falls from distance 1 to 10 to 100.",
    note=(
        "Near positions are more similar than far ones, but not step by step: the similarity rises again at some "
        "distances."
    ),
)
