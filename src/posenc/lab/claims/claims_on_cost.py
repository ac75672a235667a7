"""Claims on what encodings cost: parameters, arithmetic and width."""

from __future__ import annotations

import numpy as np

from posenc import ALiBi, Concatenated, Learned, RoPE, Sinusoidal
from posenc.lab.claims.claim import Computation, computed

CONCATENATED = Concatenated(Sinusoidal(dim=4))


@computed(
    statement="Fixed encodings have no parameters; learned ones pay for their flexibility with parameters.",
    sources=("lecture",),
    rule=(
        "Parameters at width 512 and length 2048: supported if sinusoidal, rotary and ALiBi have none, and if a "
        "learned table has more than a million."
    ),
    note="A learned table costs length × width parameters; formulas cost none.",
)
def fixed_encodings_learn_nothing() -> Computation:
    """Count the parameters of fixed encodings and of a learned table."""
    fixed = sum(len(encoding.shapes) for encoding in (Sinusoidal(dim=512), RoPE(dim=64), ALiBi(heads=8)))
    rows, width = Learned(dim=512, length=2048).shapes["table"]
    parts = {"fixed ones have none": fixed == 0, "learned ones pay with parameters": rows * width > 10**6}
    return parts, {"fixed": fixed, "learned table of 2048 rows": rows * width}


@computed(
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
def encoding_costs_almost_nothing() -> Computation:
    """Compute the additions of a sinusoidal encoding as a share of a transformer's arithmetic."""
    width, length, layers = 512, 512, 6
    model = layers * length * (24 * width * width + 4 * length * width)
    share = length * width / model
    return share < 1e-3, {"share of the arithmetic": share}


@computed(
    statement="Rotary encoding is more efficient than adding a positional vector.",
    sources=("article",),
    rule="Operations of both at width 512, 512 tokens and 6 layers, counted: supported if rotary needs fewer.",
    note=(
        "A sinusoidal table is added once at the input. A rotation is applied to queries and keys in every layer: 36 "
        "times the operations here, and still a small share of the model."
    ),
)
def rotary_needs_less_arithmetic() -> Computation:
    """Count the operations of a sinusoidal and of a rotary encoding in a transformer."""
    width, length, layers = 512, 512, 6
    added = length * width
    rotated = layers * 2 * length * width * 3
    return rotated < added, {"sinusoidal": added, "rotary": rotated, "ratio": rotated / added}


@computed(
    statement="Encoding and embedding cannot be concatenated; they must be added.",
    sources=("notes",),
    rule=(
        "An embedding of width 8 with an encoding of width 4 behind it: supported if the result does not have width 12."
    ),
    note=(
        f"{CONCATENATED} does it: concatenation costs width, addition shares it. Addition is a choice, not a necessity."
    ),
)
def addition_is_the_only_way() -> Computation:
    """Concatenate an embedding and an encoding, and compare the widths before and after."""
    x = np.zeros((3, 8))
    wide = np.concatenate([x, Sinusoidal(dim=4).embed(np.arange(3))], axis=-1)
    return wide.shape != (3, 12), {"width before": x.shape[1], "width behind": wide.shape[1]}
