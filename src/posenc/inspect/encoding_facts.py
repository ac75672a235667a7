"""Facts that measures need of any encoding: its width, and its learned parameters."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding, Params, RotaryEncoding


def width_of(encoding: Encoding) -> int:
    """How many channels an encoding has, or heads where it acts on logits."""
    if isinstance(encoding, AdditiveEncoding):
        return encoding.width
    return encoding.head_dim if isinstance(encoding, RotaryEncoding) else int(getattr(encoding, "heads", 1))


def drawn_params(encoding: Encoding, params: Params | None = None, seed: int = 0) -> Params | None:
    """Return the given parameters after a check, else initial ones drawn from the seed; None if nothing is learned."""
    rng = np.random.default_rng(validation.integer("seed", seed, 0, (1 << 63) - 1))
    if params is not None:
        encoding.checked(params)
        return params
    return encoding.init(rng) if encoding.shapes else None
