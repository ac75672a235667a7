"""The product of two encodings."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import similarity
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    table = similarity(Sinusoidal(dim=128), np.arange(256))
    errors = [np.ptp(np.diagonal(table, offset)) for offset in range(256)]
    direction = float(np.abs(table - table.T).max())
    return max(errors) < 1e-10, {"spread along a diagonal": max(errors), "asymmetry": direction}


CLAIM = computed(
    compute,
    statement="The similarity of two sinusoidal encodings tells how far apart they are.",
    sources=("lesson", "article"),
    rule="PE·PEᵀ for 256 positions: supported if every diagonal is constant to 10^-10.",
    note=(
        "The product depends on the distance alone, and is the same before and behind: direction needs the learned "
        "projections."
    ),
)
