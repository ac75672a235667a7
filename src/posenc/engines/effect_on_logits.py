"""Change of attention logits where an engine's rotation differs from the one that the file states."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from posenc.frequencies import DynamicNTK, LongRoPE
from posenc.models.model_positions import Chunks, LayerGroup, NearKeys
from posenc.models.pair_rotation import pair_rotation, unwrapped
from posenc.probe.rotation_reading import LayerRotation, every_pair

#: Distances below each length at which a difference is averaged, since it comes and goes with every revolution.
SAMPLES = 64


def logit_change(meant: np.ndarray, found: np.ndarray) -> float:
    """Return the standard deviation of the difference of two scores q·Mk/√d, for q and k of unit normal entries.

    It is ‖M₁ - M₂‖/√d, Frobenius norms averaged over distances; the scores themselves have 1 where everything rotates.

    Args:
        meant: Matrices (distances, d, d).
        found: Others of the same shape.

    Returns:
        The standard deviation.

    Example:
        >>> round(logit_change(np.eye(4)[None], 1.1 * np.eye(4)[None]), 6)
        0.1
    """
    gap = meant - found
    return float(np.sqrt((gap**2).sum((1, 2)).mean() / meant.shape[-1]))


def effects_on_logits(group: LayerGroup, found: LayerRotation, lengths: Sequence[int]) -> dict[int, float]:
    """Return how far logits move between tokens up to each length apart.

    Args:
        group: The layers that are meant.
        found: What an engine applied in one of them.
        lengths: In tokens.

    Returns:
        The change at each length, as `logit_change` defines it, up to the farthest key that the layers see; empty where
        what is meant is no rotation by fixed angles, or pairs could not be read.
    """
    encoding = group.rotary_encoding
    meant = None if encoding is None else pair_rotation(encoding)
    if encoding is not None and isinstance(getattr(unwrapped(encoding), "scaling", None), LongRoPE | DynamicNTK):
        return {}  # what is meant depends on the length that is served
    if (encoding is not None and meant is None) or (found.rotates and found.pairing not in ("halves", "adjacent")):
        return {}
    width = meant.dim if meant is not None else found.start + found.width
    effects = {}
    for length in lengths:
        farthest = min(length, _farthest_seen(group.window))
        distances = np.unique(np.linspace(farthest / 2, farthest, SAMPLES).round())
        one = np.repeat(np.eye(width)[None], len(distances), 0)
        if meant is not None:
            one = _matrices(
                width, np.array(meant.first), np.array(meant.second), meant.radians(), meant.factor**2, distances
            )
        effects[length] = logit_change(one, _found(width, found, distances))
    return effects


def _farthest_seen(near: NearKeys | None) -> float:
    """Distance of the farthest key that a query sees; the mask removes the scores of all others."""
    if near is None:
        return math.inf
    return near.size - 1 if isinstance(near, Chunks) else max(near.before, near.after)


def _found(width: int, found: LayerRotation, distances: np.ndarray) -> np.ndarray:
    if not found.rotates or found.pairing is None:
        return np.repeat(np.eye(width)[None], len(distances), 0)
    pairs = every_pair(found.pairing, found.start, found.width, width)
    frequencies = np.array(found.frequencies) * (found.direction or 1)
    return _matrices(width, pairs.first, pairs.second, frequencies, found.amplitude, distances)


def _matrices(
    width: int, first: np.ndarray, second: np.ndarray, frequencies: np.ndarray, amplitude: float, distances: np.ndarray
) -> np.ndarray:
    """Matrices of the rotation by each distance, (distances, width, width); channels of no pair pass unchanged."""
    angles = np.outer(distances, frequencies)
    matrices = np.repeat(np.eye(width)[None], len(distances), 0)
    matrices[:, first, first] = matrices[:, second, second] = amplitude * np.cos(angles)
    matrices[:, first, second] = -amplitude * np.sin(angles)
    matrices[:, second, first] = amplitude * np.sin(angles)
    return matrices
