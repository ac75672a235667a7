"""Attention with an encoding."""

from __future__ import annotations

from posenc import ALiBi, RoPE, Sinusoidal
from posenc.inspect import order_blindness
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    encodings = {"sinusoidal": Sinusoidal(dim=16), "rotary": RoPE(dim=8), "ALiBi": ALiBi(heads=2)}
    changes = {
        name: order_blindness("Dog bites man", "Man bites dog", encoding).largest
        for name, encoding in encodings.items()
    }
    return min(changes["sinusoidal"], changes["rotary"]) > 1e-3, changes


CLAIM = computed(
    compute,
    statement="With a positional encoding, attention can tell two orders of the same words apart.",
    sources=("lecture", "article", "lesson"),
    rule=(
        "A sentence of three words and its mirror image: supported if a sinusoidal and a rotary encoding both change "
        "an output by more than 0.001; ALiBi is reported."
    ),
    note=(
        "Sinusoids and rotations tell the two orders apart. ALiBi's bias, equal on both sides, cannot tell a sentence "
        "from its mirror image."
    ),
)
