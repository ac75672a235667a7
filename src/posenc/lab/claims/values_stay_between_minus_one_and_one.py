"""The range of sinusoids."""

from __future__ import annotations

import numpy as np

from posenc import Sinusoidal
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    positions = np.concatenate([np.arange(10_000), 10 ** np.arange(4, 16)])
    rows = Sinusoidal(dim=128).embed(positions)
    return bool(np.abs(rows).max() <= 1), {"smallest": rows.min(), "largest": rows.max()}


CLAIM = computed(
    compute,
    statement="The values of the sinusoidal encoding stay between -1 and 1.",
    sources=("article", "notes", "chapter"),
    rule="The table at 10,000 positions and at powers of ten up to 10^15: supported if no value lies outside.",
    note="Bounded at every position, so that the encoding never outgrows the embedding.",
)
