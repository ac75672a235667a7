"""Parameters of encodings."""

from __future__ import annotations

from posenc import ALiBi, Learned, RoPE, Sinusoidal
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    fixed = sum(len(encoding.shapes) for encoding in (Sinusoidal(dim=512), RoPE(dim=64), ALiBi(heads=8)))
    rows, width = Learned(dim=512, length=2048).shapes["table"]
    return fixed == 0 and rows * width > 10**6, {"fixed": fixed, "learned table of 2048 rows": rows * width}


CLAIM = computed(
    compute,
    statement="Fixed encodings have no parameters; learned ones pay for their flexibility with parameters.",
    sources=("lecture",),
    rule=(
        "Parameters at width 512 and length 2048: supported if sinusoidal, rotary and ALiBi have none and a learned "
        "table more than a million."
    ),
    note="A learned table costs length × width parameters; formulas cost none.",
)
