"""Distinct rows of the sinusoidal table."""

from __future__ import annotations

from posenc import Sinusoidal
from posenc.inspect.properties import rows_in_dtype
from posenc.lab.claims.claim import Claim, ClaimFinding, Computed, found


def compute() -> ClaimFinding:
    count = 20_000
    distinct = {
        dtype: len({row.tobytes() for row in rows_in_dtype(Sinusoidal(dim=128), count, dtype)})
        for dtype in ("float64", "float32", "bfloat16")
    }
    return found(
        distinct["float64"] == distinct["float32"] == count,
        {f"distinct in {k}": v for k, v in distinct.items()},
        "No two of 20,000 rows are equal, even rounded to bfloat16: the many channels make up for their few digits.",
    )


CLAIM = Claim(
    statement="Every position gets a vector of its own.",
    sources=("lecture", "article", "notes", "chapter"),
    rule=("20,000 rows of width 128: supported if no two are equal in float64 and in float32; bfloat16 is reported."),
    evidence=Computed(compute),
)
