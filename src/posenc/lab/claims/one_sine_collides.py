"""A single sine as an encoding."""

from __future__ import annotations

from posenc import OneSine
from posenc.inspect import properties
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    nearest = properties(OneSine(), 1001)
    figures = {
        "first position": nearest.closest[0],
        "second position": nearest.closest[1],
        "difference": nearest.distance,
    }
    return nearest.distance < 1e-6, figures


CLAIM = computed(
    compute,
    statement="One sine gives nearly the same value to different positions.",
    sources=("notes",),
    rule="The closest two of positions 0 to 1000: supported if they differ by less than 10^-6.",
    note="No two values are equal, but two differ by less than a float32 can tell apart near 1.",
)
