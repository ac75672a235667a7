"""cos 3."""

from __future__ import annotations

import math

from posenc.lab.claims.claim import Claim, ClaimFinding, Computed, found


def compute() -> ClaimFinding:
    return found(round(math.cos(3), 4) == -0.9899, {"cos 3": math.cos(3)}, "cos 3 = -0.98999, which rounds to -0.9900.")


CLAIM = Claim(
    statement="PE(3) at width 4 begins 0.1411, -0.9899.",
    sources=("lecture",),
    rule="cos 3 to four digits: supported if it is -0.9899.",
    evidence=Computed(compute),
)
