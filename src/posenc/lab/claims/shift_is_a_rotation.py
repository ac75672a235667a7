"""The matrix of a shift."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import shift_error
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    error = shift_error(Sinusoidal(dim=128), np.arange(64), np.arange(-64, 65))
    figures = {"largest |MᵀM - 1|": error.orthogonality, "largest |det M - 1|": error.determinant}
    return max(figures.values()) < 1e-12, figures


CLAIM = computed(
    compute,
    statement="The matrix that shifts a position looks like a rotation matrix.",
    sources=("article",),
    rule="MᵀM and det M for 129 offsets: supported if both are 1 to 10^-12.",
    note="Orthogonal with determinant 1: not similar to a rotation, but one.",
)
