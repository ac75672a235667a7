"""What a wavelength is."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.inspect import spectrum
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    wavelengths = np.asarray(spectrum(Sinusoidal(dim=8)).wavelengths)
    divisors = 10000.0 ** (np.arange(4) / 4)
    ratio = float((wavelengths / divisors).mean())
    return bool(abs(ratio - 1) < 1e-9), {"period / 10000^(2i/d)": ratio}


CLAIM = computed(
    compute,
    statement="The wavelength of a dimension is 10000^(2i/d).",
    sources=("lecture",),
    rule="Periods of the four pairs at width 8 over the divisors: supported if the ratio is 1.",
    note="The period is 2π times the divisor: 6.283 positions for the fastest pair, not 1.",
)
