"""Scores of queries and keys that are rotated by angles which tokens choose."""

from __future__ import annotations

import math

from posenc.core.arrays import Array, Library


def score_of_rotation(q: Array, k: Array, rotated_q: Array, rotated_k: Array) -> Array:
    """Difference (R(there)q · R(here)k - q·k) / √dim that a rotation makes to the product that attention adds itself.

    Args:
        q: Queries, (*batch, heads, n, dim).
        k: Keys, (*batch, heads, m, dim).
        rotated_q: The rotated queries.
        rotated_k: The rotated keys.

    Returns:
        The score, (*batch, heads, n, m).
    """
    return (rotated_q @ rotated_k.swapaxes(-1, -2) - q @ k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])


def rotated_by_angles(x: Array, angle: Array, lib: Library) -> Array:
    """Pairs (i, i + dim/2) of x, (*batch, heads, places, dim), rotated by their angles."""
    cos, sin = (lib.astype(part, x.dtype) for part in (lib.xp.cos(angle), lib.xp.sin(angle)))
    return rotated_halves(x, cos, sin, lib)


def rotated_halves(x: Array, cos: Array, sin: Array, lib: Library) -> Array:
    """Pairs (i, i + dim/2) of x rotated by angles with these cosines and sines."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return lib.xp.concatenate([first * cos - second * sin, first * sin + second * cos], -1)
