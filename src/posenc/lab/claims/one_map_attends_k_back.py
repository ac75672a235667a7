"""A head that looks k tokens back."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import shift_matrix
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    encoding, back, count = Sinusoidal(dim=64), 5, 200
    table = encoding.embed(np.arange(count))
    scores = table @ shift_matrix(encoding, back) @ table.T
    hits = (scores.argmax(1)[back:] == np.arange(count - back)).mean()
    return bool(hits == 1), {"positions that look exactly 5 back": hits}


CLAIM = computed(
    compute,
    statement="Since a shift is linear, attention can easily look a fixed number of tokens back.",
    sources=("lecture", "article"),
    rule=(
        "The largest of PE · M(-5)ᵀ · PEᵀ in each row of 200 positions: supported if it is 5 back in every row that "
        "has one."
    ),
    note=(
        "One linear map makes such a head at every position, on the encoding alone. What training finds is another "
        "question."
    ),
)
