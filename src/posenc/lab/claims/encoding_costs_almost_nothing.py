"""Arithmetic of a sinusoidal encoding."""

from __future__ import annotations

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    width, length, layers = 512, 512, 6
    model = layers * length * (24 * width * width + 4 * length * width)
    share = length * width / model
    return share < 1e-3, {"share of the arithmetic": share}


CLAIM = computed(
    compute,
    statement="A fixed encoding adds little computation.",
    sources=("lecture", "chapter"),
    rule=(
        "Additions of the encoding over the operations of the base transformer of 2017 at 512 tokens, counted: "
        "supported if below 0.001."
    ),
    note=(
        "One addition an input channel, compared with the multiplications of six layers. Time on real machines is "
        "measured on the page on speed."
    ),
)
