"""One formula for sequences of all lengths."""

from __future__ import annotations

import numpy as np

from posenc import Learned, Sinusoidal
from posenc.lab.claims.claim import Computation, computed

LENGTHS = (1, 7, 512, 100_000)


def compute() -> Computation:
    encoding = Sinusoidal(dim=64)
    whole = encoding.embed(np.arange(LENGTHS[-1]))
    changed = max(float(np.abs(encoding.embed(np.arange(n)) - whole[:n]).max()) for n in LENGTHS)
    holds = changed == 0.0 and bool(np.isfinite(whole).all()) and _has_a_last_row(Learned(dim=64, length=512))
    return holds, {"largest change of a row": changed, "longest": LENGTHS[-1]}


def _has_a_last_row(table: Learned) -> bool:
    """Whether a table has no row behind its last."""
    try:
        table.embed(np.array([table.length]), table.init(np.random.default_rng(0)))
    except ValueError:
        return True
    return False


CLAIM = computed(
    compute,
    statement="Sinusoidal encoding suits sequences of varying length.",
    sources=("lecture",),
    rule=(
        "The rows of sequences of 1, 7, 512 and 100,000 tokens: supported if each position has exactly the same vector "
        "in all of them, where a learned table of 512 rows ends at its last."
    ),
    note=(
        "A position has one vector, however long its sequence is, and none is the last; a learned table of 512 rows "
        "has no 513th. Whether a model can use positions that it was not trained on is another question."
    ),
)
