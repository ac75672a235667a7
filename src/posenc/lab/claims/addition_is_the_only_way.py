"""Adding or concatenating."""

from __future__ import annotations

import numpy as np

from posenc import Concatenated, Sinusoidal
from posenc.lab.claims.claim import Claim, ClaimFinding, Computed, found


def compute() -> ClaimFinding:
    x = np.zeros((3, 8))
    record = Concatenated(Sinusoidal(dim=4))
    wide = np.concatenate([x, Sinusoidal(dim=4).embed(np.arange(3))], axis=-1)
    return found(
        wide.shape != (3, 12),
        {"width before": x.shape[1], "width behind": wide.shape[1]},
        f"{record} does it: concatenation costs width, addition shares it. Addition is a choice, not a necessity.",
    )


CLAIM = Claim(
    statement="Encoding and embedding cannot be concatenated; they must be added.",
    sources=("notes",),
    rule=(
        "An embedding of width 8 with an encoding of width 4 behind it: supported if the result does not have width 12."
    ),
    evidence=Computed(compute),
)
