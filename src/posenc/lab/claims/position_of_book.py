"""The worked inverse of the chapter."""

from __future__ import annotations

import numpy as np

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    position = float(100 ** (2 / 16) * np.arccos(0.85))
    return abs(position - 2) < 0.1, {"position": position}


CLAIM = computed(
    compute,
    statement="The value 0.85 gives the position of the word book, 2.",
    sources=("chapter",),
    rule="n^(2/d) · arccos 0.85 with n = 100 and d = 16: supported if it is 2 to a tenth.",
    note="The value stands in the row of the word before, and gives its position, 1.",
)
