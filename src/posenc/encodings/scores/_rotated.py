"""What angles that tokens choose do to a logit: shared by the scores that rotate queries and keys."""

from __future__ import annotations

import math

from posenc.core.arrays import Array, Library


def score_of_rotation(q: Array, k: Array, rotated_q: Array, rotated_k: Array) -> Array:
    """(R(there)q · R(here)k - q·k) / √dim: what rotation adds to the plain product, which attention adds itself.

    Args:
        q: (*batch, heads, n, dim), k, rotated_k: (*batch, heads, m, dim).
        rotated_q: (*batch, heads, n, dim), k, rotated_k: (*batch, heads, m, dim).
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
