"""Plain calls of an encoding, with arguments exactly as given."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.doors import Adds, Biases, Encoding, Rotates, Scores
from posenc.testing.door_probe import content, dtype_asked, head_width, heads, hidden, operated, sides


def called(encoding: Encoding, query: Any, key: Any, params: Any = None, *, dtype: Any = None) -> Any:
    """The door's own method in NumPy: embed(query), turn(query), matrix or score of (query, key)."""
    if isinstance(encoding, Adds):
        return encoding.embed(query, params, dtype=dtype)
    if isinstance(encoding, Rotates):
        turn = encoding.turn(query, params, role=sides(encoding)[0], dtype=dtype)
        return operated(turn, np.shape(query), dtype=dtype_asked(dtype, "numpy"))
    if isinstance(encoding, Biases):
        return encoding.matrix(query, key, params, dtype=dtype)
    if not isinstance(encoding, Scores):
        raise TypeError(f"encoding must enter by one of the four doors; got {encoding!r}. Derive it from a door.")
    q, k = (
        np.broadcast_to(content(encoding, seed), (heads(encoding), _count(positions), head_width(encoding)))
        for seed, positions in ((1, query), (2, key))
    )
    return encoding.score(q, k, query, key, params, hidden=hidden(encoding, _count(query), _count(key)))


def _count(positions: Any) -> int:
    """How many places are meant; two for what is no array of numbers, as the other side has."""
    return (
        np.shape(positions)[-1] if isinstance(positions, np.ndarray | list | tuple | range) and _even(positions) else 2
    )


def _even(positions: Any) -> bool:
    return not isinstance(positions, list | tuple) or len({np.shape(row) for row in positions}) < 2


def values_term(encoding: Encoding, params: Any) -> Any:
    """What is added to the attention output for some weights; None where nothing is."""
    if not isinstance(encoding, Scores):
        return None
    weights = np.random.default_rng(4).random((heads(encoding), 3, 4))
    return encoding.values(weights, np.array([0, 2, 3]), np.array([0, 1, 2, 4]), params or None)
