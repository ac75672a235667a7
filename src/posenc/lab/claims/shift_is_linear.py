"""PE(t + k) = M(k) PE(t)."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import shift_error
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    error = shift_error(Sinusoidal(dim=128), np.arange(512), np.arange(-64, 65))
    return error.largest < 1e-12, {"largest error": error.largest}


CLAIM = computed(
    compute,
    statement=(
        "For a fixed offset, the encoding of the shifted position is a linear function of the encoding, the same at "
        "every position."
    ),
    sources=("lecture", "article", "lesson", "chapter"),
    rule=(
        "Every pair of 512 positions and 129 offsets at width 128 in float64: supported if the largest error is below "
        "10^-12."
    ),
    note="One matrix for each offset, the same at every position.",
)
