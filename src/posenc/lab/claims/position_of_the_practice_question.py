"""The practice question."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    value = float(Sinusoidal(dim=5120).embed(np.array([7]))[0, 1088])
    other = float(np.sin(7 / 10000 ** (544 / 5120)))
    return abs(value - 0.488814) < 1e-6, {"at k = 7": value, "with exponent i/d": other}


CLAIM = computed(
    compute,
    statement="With d = 5120 and n = 10000, a value of 0.488814 at dimension 1088 was generated at k = 7.",
    sources=("chapter",),
    rule="The formula at k = 7: supported if it gives the printed value to six digits.",
    note="At k = 7 the stated formula gives 0.835. The printed value belongs to an exponent of i/d in place of 2i/d.",
)
