"""Frequencies by dimension."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    table = Sinusoidal(dim=128).embed(np.arange(100))
    travel = np.abs(np.diff(table, axis=0)).sum(0)[0::2]
    return bool((np.diff(travel) < 0).all()), {"way of dimension 0": travel[0], "way of dimension 126": travel[-1]}


CLAIM = computed(
    compute,
    statement="Lower dimensions change fast with position, higher ones slowly.",
    sources=("lecture", "article"),
    rule=(
        "The total variation of each sine over 100 positions at width 128: supported if it falls with the dimension "
        "throughout."
    ),
    note="How far a value travels in 100 positions falls from each pair to the next.",
)
