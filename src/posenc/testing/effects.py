"""Effects of an encoding as arrays: plain calls of its door, and all that it does.

Two encodings with the same effects are the same encoding, whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.diagnosis.code.user_code import POSITIONS
from posenc.testing.door_probe import (
    array_module,
    content_at,
    content_vectors,
    dtype_asked,
    head_width,
    hidden_input,
    last_position,
    number_of_heads,
    operated,
    sides,
)
from posenc.testing.one_coordinate import spread_over_axes

#: Queries and keys of biases: beyond the distance of 128 at which T5's last bucket begins. Of scores, which cost more.
BIAS_LENGTH = 160
SCORE_LENGTH = 12
#: Numbers of all rotations together.
MOST_NUMBERS = 1 << 22


def positions_within(encoding: Encoding) -> np.ndarray:
    """Positions that are compared, on every axis: near ones, those where tables end and types narrow, far ones."""
    farthest = last_position(encoding) // encoding.axes
    if isinstance(encoding, AttentionBias):
        return np.arange(min(BIAS_LENGTH, farthest + 1))
    if not isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        return np.arange(min(SCORE_LENGTH, farthest + 1))
    positions = np.array([position for position in POSITIONS if position <= farthest], dtype=np.int64)
    size = head_width(encoding) ** 2 * head_count(encoding) if isinstance(encoding, RotaryEncoding) else encoding.width
    return positions[: max(4, MOST_NUMBERS // size)]


def effects(encoding: Encoding, params: Mapping[str, Any], positions: np.ndarray) -> dict[str, np.ndarray]:
    """Compute all that an encoding does at some positions.

    Args:
        encoding: Encoding of any door.
        params: Its parameters.
        positions: Whole numbers (n,).

    Returns:
        By name, the added vectors (n, width); the matrices (heads, n, out, in) of each role; the biases (heads, n, n);
        or the scores (heads, n, n) of drawn content and the term of the output.
    """
    values, coordinates = dict(params) or None, spread_over_axes(encoding, positions)
    if isinstance(encoding, AdditiveEncoding):
        return {"embed": np.asarray(encoding.embed(coordinates, values), np.float64)}
    if isinstance(encoding, RotaryEncoding):
        return {role: _matrices(encoding, values, coordinates, role) for role in encoding.roles}
    if isinstance(encoding, AttentionBias):
        return {"matrix": np.asarray(encoding.matrix(coordinates, coordinates, values), np.float64)}
    scores: Any = encoding
    count = len(positions)
    q, k = (content_at(encoding, seed, count) for seed in (1, 2))
    x = hidden_input(encoding, count, count)
    results = {"score": scores.score(q, k, coordinates, coordinates, values, hidden=x)}
    weights = np.random.default_rng(6).random((q.shape[0], count, count))
    added = scores.values(weights, coordinates, coordinates, values)
    results |= {} if added is None else {"values": added}
    return {name: np.asarray(value, np.float64) for name, value in results.items()}


def tolerance_of(values: np.ndarray, positions: np.ndarray, door: str) -> np.ndarray:
    """Tolerance for float32 rounding of values and of angles, which grows with position; broadcasts to `values`."""
    size = max(1.0, float(np.abs(values[np.isfinite(values)]).max(initial=0.0)))
    steps = np.ones(1) if door in ("biases", "scores") else np.abs(positions) + 1.0
    by_position = size * (4e-6 + 3 * 2.0**-24 * steps)
    trailing = {"adds": 1, "rotates": 2}.get(door, 0)
    return by_position.reshape((-1,) + (1,) * trailing)


def head_count(encoding: Encoding) -> int:
    """Number of heads of an encoding that states them, else one."""
    return int(getattr(encoding, "heads", 1))


def _matrices(encoding: RotaryEncoding, values: Any, coordinates: np.ndarray, role: Any) -> np.ndarray:
    """Matrices (heads, n, out, in) of a rotation in one role."""
    rotation = encoding.rotation(coordinates, values, role=role, dtype=np.float64)
    width = rotation.dim
    units = np.broadcast_to(np.eye(width)[:, None, None], (width, head_count(encoding), len(coordinates), width))
    return np.moveaxis(np.asarray(rotation(units.copy(), layout="bhtd"), np.float64), 0, -1)


def called(
    encoding: Encoding,
    query_positions: Any,
    key_positions: Any,
    params: Any = None,
    *,
    dtype: Any = None,
    name: str = "numpy",
) -> Any:
    """Call the door's own method with arguments exactly as given.

    Args:
        encoding: Encoding; embed and rotation take the query positions alone.
        query_positions: Positions of queries, of any kind.
        key_positions: Positions of keys, of any kind.
        params: Parameters, of any kind.
        dtype: Dtype of the result.
        name: Library of the positions.

    Returns:
        What the method returns; of a rotation its cosines and sines, or what it makes of a vector.
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
    """Shape (*batch, n) of positions; (2,) for invalid ones that have no shape, to fit two on the other side."""
    is_array = hasattr(positions, "shape") or (isinstance(positions, list | tuple | range) and _even(positions))
    shape = tuple(np.shape(positions)) if is_array else ()
    return (shape if encoding.axes == 1 else shape[:-1]) or (2,)


def _even(positions: Any) -> bool:
    """Whether all rows of nested lists have one shape."""
    return not isinstance(positions, list | tuple) or len({np.shape(row) for row in positions}) < 2


def values_term(encoding: Encoding, params: Any) -> Any:
    """Term of the attention output for some weights; None where nothing is added."""
    if not isinstance(encoding, AttentionScore):
        return None
    weights = np.random.default_rng(4).random((number_of_heads(encoding), 3, 4))
    return encoding.values(weights, np.array([0, 2, 3]), np.array([0, 1, 2, 4]), params or None)
