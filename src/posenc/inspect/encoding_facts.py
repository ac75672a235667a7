"""Facts that measures need of any encoding: its width, and its learned parameters."""

from __future__ import annotations

import numpy as np

from posenc.compose import Concatenated
from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Encoding, Params, RotaryEncoding


def width_of(encoding: Encoding) -> int:
    """How many channels an encoding has, or heads where it acts on logits."""
    if isinstance(encoding, AdditiveEncoding):
        return encoding.width
    return encoding.head_dim if isinstance(encoding, RotaryEncoding) else int(getattr(encoding, "heads", 1))


def added(encoding: Encoding) -> None:
    """Refuse an encoding whose vector is appended to the embedding, where it must be added to it."""
    if isinstance(encoding, Concatenated):
        raise TypeError(
            f"encoding must be added to the embedding; got {text_lines.short(encoding):.60}, which is appended to it. "
            "Give the encoding inside it, to add that."
        )


def drawn_params(encoding: Encoding, params: Params | None = None, seed: int = 0) -> Params | None:
    """Return the given parameters after a check, else initial ones drawn from the seed; None if nothing is learned."""
    rng = np.random.default_rng(validation.integer("seed", seed, 0, (1 << 63) - 1))
    if params is not None:
        encoding.checked(params)
        return params
    return encoding.init(rng) if encoding.shapes else None
