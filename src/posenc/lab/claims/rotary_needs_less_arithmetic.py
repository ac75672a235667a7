"""Arithmetic of a rotary encoding."""

from __future__ import annotations

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    width, length, layers = 512, 512, 6
    added = length * width
    rotated = layers * 2 * length * width * 3
    return rotated < added, {"sinusoidal": added, "rotary": rotated, "ratio": rotated / added}


CLAIM = computed(
    compute,
    statement="Rotary encoding is more efficient than adding a positional vector.",
    sources=("article",),
    rule="Operations of both at width 512, 512 tokens and 6 layers, counted: supported if rotary needs fewer.",
    note=(
        "A sinusoidal table is added once at the input. A rotation is applied to queries and keys in every layer: 36 "
        "times the operations here, and still a small share of the model."
    ),
)
