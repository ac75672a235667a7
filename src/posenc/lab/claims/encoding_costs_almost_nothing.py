"""Arithmetic of a sinusoidal encoding."""

from __future__ import annotations

from posenc.lab.claims.claim import Claim, ClaimFinding, Computed, found


def compute() -> ClaimFinding:
    width, length, layers = 512, 512, 6
    model = layers * length * (24 * width * width + 4 * length * width)
    share = length * width / model
    return found(
        share < 1e-3,
        {"share of the arithmetic": share},
        "One addition an input channel, compared with the multiplications of "
        "six layers. Time on real machines is measured on the page on speed.",
    )


CLAIM = Claim(
    statement="A fixed encoding adds little computation.",
    sources=("lecture", "chapter"),
    rule=(
        "Additions of the encoding over the operations of the base transformer of 2017 at 512 tokens, "
        "counted: supported if below 0.001."
    ),
    evidence=Computed(compute),
)
