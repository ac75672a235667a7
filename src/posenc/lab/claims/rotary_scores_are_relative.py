"""q·k under rotation."""

from __future__ import annotations

import numpy as np

from posenc import RoPE
from posenc.inspect import rotation_error
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    error = rotation_error(RoPE(dim=128), np.arange(512), shift=100_000)
    return error.relative < 1e-10, {"largest change under a shift": error.relative}


CLAIM = computed(
    compute,
    statement="A rotary score depends on the positions only through their difference.",
    sources=("article",),
    rule="q·k at (m, n) and at (m + 100000, n + 100000) in float64: supported if they agree to 10^-10.",
    note="Both positions moved by 100,000: the score stays.",
)
