"""Base and exponent."""

from __future__ import annotations

import numpy as np

from posenc import RoPE
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    dim, base, exponent = 64, 10000.0, 0.75
    slopes = np.arange(dim // 2) * 2 / dim
    by_exponent, by_base = base ** (-exponent * slopes), RoPE(dim=dim, base=base**exponent).frequencies.radians()
    error = float(np.abs(by_exponent / by_base - 1).max())
    return error > 1e-9, {"largest relative difference": error}


CLAIM = computed(
    compute,
    statement="Changing the exponent has an effect of its own besides changing the base.",
    sources=("lecture",),
    rule="Frequencies with the exponent times 0.75 against those of base 10000^0.75: supported if they differ.",
    note="A factor s in the exponent is the base to the power s: one knob, not two.",
)
