"""Record of what a live model did with positions; `posenc.transformers.capture` makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Recorded:
    """Arrays of one layer, under the names that `diagnose` knows.

    Args:
        arrays: Arrays by name: q, k, q_rotated and k_rotated, or bias and table.
        layer: Number of the layer, None where the model does not say.
        part: "encoder" or "decoder"; "" where the model has one part.
        layout: Order of the axes of q and k, None where they have no four axes.
    """

    arrays: dict[str, Any]
    layer: int | None = None
    part: str = ""
    layout: str | None = None


@dataclass(frozen=True, eq=False)
class Capture:
    """Record of what a model did with positions in one run, from `posenc.transformers.capture`.

    Attributes:
        rotations: Queries and keys before and after their rotation, layer by layer.
        biases: Biases of the logits, layer by layer.
        rows: Rows (batch, n) that were read of each table of positions, by its name in the model.
    """

    rotations: tuple[Recorded, ...] = ()
    biases: tuple[Recorded, ...] = ()
    rows: dict[str, np.ndarray] = field(default_factory=dict)
