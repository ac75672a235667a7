"""Plain calls of an encoding, with arguments exactly as given."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.testing.door_probe import (
    array_module,
    content_vectors,
    dtype_asked,
    head_width,
    hidden_input,
    number_of_heads,
    operated,
    sides,
)


def called(
    encoding: Encoding,
    query_positions: Any,
    key_positions: Any,
    params: Any = None,
    *,
    dtype: Any = None,
    name: str = "numpy",
) -> Any:
    """The door's own method: embed(query), rotation(query), matrix or score of (query, key).

    Args:
        name: Of their library.
    """
    if isinstance(encoding, AdditiveEncoding):
        return encoding.embed(query_positions, params, dtype=dtype)
    if isinstance(encoding, RotaryEncoding):
        rotation = encoding.rotation(query_positions, params, role=sides(encoding)[0], dtype=dtype)
        return operated(rotation, _places(encoding, query_positions), name, dtype_asked(dtype, name))
    if isinstance(encoding, AttentionBias):
        return encoding.matrix(query_positions, key_positions, params, dtype=dtype)
    if not isinstance(encoding, AttentionScore):
        raise TypeError(f"encoding must enter by one of the four doors; got {encoding!r}. Derive it from a door.")
    (*batch, queries), (*_, keys) = (_places(encoding, positions) for positions in (query_positions, key_positions))
    asked, broadcast = dtype_asked(dtype, name), array_module(name).broadcast_to
    q, k = (
        broadcast(
            content_vectors(encoding, seed, name, asked),
            (*batch, number_of_heads(encoding), count, head_width(encoding)),
        )
        for seed, count in ((1, queries), (2, keys))
    )
    x = hidden_input(encoding, queries, keys, name=name, dtype=asked)
    return encoding.score(
        q, k, query_positions, key_positions, params, hidden=None if x is None else broadcast(x, (*batch, *x.shape))
    )


def _places(encoding: Encoding, positions: Any) -> tuple[int, ...]:
    """(*batch, n) of positions; (2,) for what is no array of them, as the other side has."""
    is_array = hasattr(positions, "shape") or (isinstance(positions, list | tuple | range) and _even(positions))
    shape = tuple(np.shape(positions)) if is_array else ()
    return (shape if encoding.axes == 1 else shape[:-1]) or (2,)


def _even(positions: Any) -> bool:
    return not isinstance(positions, list | tuple) or len({np.shape(row) for row in positions}) < 2


def values_term(encoding: Encoding, params: Any) -> Any:
    """What is added to the attention output for some weights; None where nothing is."""
    if not isinstance(encoding, AttentionScore):
        return None
    weights = np.random.default_rng(4).random((number_of_heads(encoding), 3, 4))
    return encoding.values(weights, np.array([0, 2, 3]), np.array([0, 1, 2, 4]), params or None)
