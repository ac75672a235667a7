"""Sines of 2, 3 and 4."""

from __future__ import annotations

import math

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    printed = {2: 0.87, 3: 0.19, 4: -0.90}
    figures = {f"sin {angle}": math.sin(angle) for angle in printed}
    return all(abs(math.sin(angle) - value) < 0.005 for angle, value in printed.items()), figures


CLAIM = computed(
    compute,
    statement="The sines of 2, 3 and 4 are 0.87, 0.19 and -0.90.",
    sources=("notes",),
    rule="The sines to two digits: supported if all three are as printed.",
    note="None of the three printed values is the sine of its number.",
)
