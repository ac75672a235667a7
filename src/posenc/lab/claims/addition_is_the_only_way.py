"""Adding or concatenating."""

from __future__ import annotations

import numpy as np

from posenc import Concatenated, Sinusoidal
from posenc.lab.claims.claim import Computation, computed

CONCATENATED = Concatenated(Sinusoidal(dim=4))


def compute() -> Computation:
    x = np.zeros((3, 8))
    wide = np.concatenate([x, Sinusoidal(dim=4).embed(np.arange(3))], axis=-1)
    return wide.shape != (3, 12), {"width before": x.shape[1], "width behind": wide.shape[1]}


CLAIM = computed(
    compute,
    statement="Encoding and embedding cannot be concatenated; they must be added.",
    sources=("notes",),
    rule=(
        "An embedding of width 8 with an encoding of width 4 behind it: supported if the result does not have width 12."
    ),
    note=(
        f"{CONCATENATED} does it: concatenation costs width, addition shares it. Addition is a choice, not a necessity."
    ),
)
