"""The ladder of wavelengths."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import spectrum
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    wavelengths = np.asarray(spectrum(Sinusoidal(dim=128)).wavelengths)
    ratios = wavelengths[1:] / wavelengths[:-1]
    return bool(np.ptp(ratios) < 1e-12), {"ratio": ratios[0], "spread": np.ptp(ratios)}


CLAIM = computed(
    compute,
    statement="The exponent 2i/d makes the wavelengths a geometric progression.",
    sources=("lecture",),
    rule="Ratios of neighbouring wavelengths at width 128: supported if they are equal to 10^-12.",
    note="Each pair is slower than the one before it by the same factor, 10000^(2/d).",
)
