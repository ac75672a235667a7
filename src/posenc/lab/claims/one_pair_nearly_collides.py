"""One sine and cosine as an encoding."""

from __future__ import annotations

from posenc import Sinusoidal
from posenc.inspect import properties
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    nearest = properties(Sinusoidal(dim=2), 1001)
    figures = {"steps apart": nearest.spacing, "distance": nearest.distance, "pairs as near": nearest.ties}
    return nearest.distance < 1e-3, figures


CLAIM = computed(
    compute,
    statement="One pair of sine and cosine still brings some positions close together, so more pairs are needed.",
    sources=("notes",),
    rule="The closest two of positions 0 to 1000 in the plane of one pair: supported if they are nearer than 0.001.",
    note=(
        "710 steps are almost exactly 113 turns (710 / 113 = 2π to 4·10^-7), so every position nearly meets the one "
        "710 further."
    ),
)
