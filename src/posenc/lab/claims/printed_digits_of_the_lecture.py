"""cos 3."""

from __future__ import annotations

import math

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    return round(math.cos(3), 4) == -0.9899, {"cos 3": math.cos(3)}


CLAIM = computed(
    compute,
    statement="PE(3) at width 4 begins 0.1411, -0.9899.",
    sources=("lecture",),
    rule="cos 3 to four digits: supported if it is -0.9899.",
    note="cos 3 = -0.98999, which rounds to -0.9900.",
)
