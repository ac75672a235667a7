"""Distinct rows of the sinusoidal table."""

from __future__ import annotations

from posenc import Sinusoidal
from posenc.inspect.properties import rows_in_dtype
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    count = 20_000
    distinct = {
        dtype: len({row.tobytes() for row in rows_in_dtype(Sinusoidal(dim=128), count, dtype)})
        for dtype in ("float64", "float32", "bfloat16")
    }
    return distinct["float64"] == distinct["float32"] == count, {f"distinct in {k}": v for k, v in distinct.items()}


CLAIM = computed(
    compute,
    statement="Every position gets a vector of its own.",
    sources=("lecture", "article", "notes", "chapter"),
    rule="20,000 rows of width 128: supported if no two are equal in float64 and in float32; bfloat16 is reported.",
    note="No two of 20,000 rows are equal, even rounded to bfloat16: the many channels make up for their few digits.",
)
