"""All that an encoding does, as arrays.

Two encodings with the same effects are the same encoding, whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.diagnosis.code.call_forms import POSITIONS
from posenc.testing.door_probe import content_at, head_width, hidden_input, last_position
from posenc.testing.one_coordinate import spread_over_axes

#: Queries and keys of biases: beyond the distance of 128 at which T5's last bucket begins. Of scores, which cost more.
BIAS_LENGTH = 160
SCORE_LENGTH = 12
#: Numbers of all rotations together.
MOST_NUMBERS = 1 << 22


def positions_within(encoding: Encoding) -> np.ndarray:
    """The positions that are compared, on every axis: near ones, those where tables end and types narrow, far ones."""
    farthest = last_position(encoding) // encoding.axes
    if isinstance(encoding, AttentionBias):
        return np.arange(min(BIAS_LENGTH, farthest + 1))
    if not isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        return np.arange(min(SCORE_LENGTH, farthest + 1))
    positions = np.array([position for position in POSITIONS if position <= farthest], dtype=np.int64)
    size = head_width(encoding) ** 2 * head_count(encoding) if isinstance(encoding, RotaryEncoding) else encoding.width
    return positions[: max(4, MOST_NUMBERS // size)]


def effects(encoding: Encoding, params: Mapping[str, Any], positions: np.ndarray) -> dict[str, np.ndarray]:
    """By name, the vectors added (n, width).

    The matrices (heads, n, out, in) of each role; the biases (heads, n, n); or the scores of drawn content (heads, n,
    n) and what it adds to the output.
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
    """What rounding may change: float32's of each value, and of each angle, which grows with its position."""
    size = max(1.0, float(np.abs(values[np.isfinite(values)]).max(initial=0.0)))
    steps = np.ones(1) if door in ("biases", "scores") else np.abs(positions) + 1.0
    by_position = size * (4e-6 + 3 * 2.0**-24 * steps)
    trailing = {"adds": 1, "rotates": 2}.get(door, 0)
    return by_position.reshape((-1,) + (1,) * trailing)


def head_count(encoding: Encoding) -> int:
    """Heads of an encoding that states them, else one."""
    return int(getattr(encoding, "heads", 1))


def _matrices(encoding: RotaryEncoding, values: Any, coordinates: np.ndarray, role: Any) -> np.ndarray:
    rotation = encoding.rotation(coordinates, values, role=role, dtype=np.float64)
    width = rotation.dim
    units = np.broadcast_to(np.eye(width)[:, None, None], (width, head_count(encoding), len(coordinates), width))
    return np.moveaxis(np.asarray(rotation(units.copy(), layout="bhtd"), np.float64), 0, -1)
