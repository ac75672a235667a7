"""What angles that tokens choose do to a logit: shared by the scores that turn queries and keys."""

from __future__ import annotations

import math

from posenc._array import Array, Library


def added(q: Array, k: Array, there: Array, here: Array, lib: Library) -> Array:
    """(R(there)q · R(here)k - q·k) / √dim: what turning adds to the plain product, which attention adds itself.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); there and here: angles of their pairs (i, i + dim/2).
    """
    rotated = _rotated(q, there, lib) @ _rotated(k, here, lib).swapaxes(-1, -2)
    return (rotated - q @ k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])


def _rotated(x: Array, angle: Array, lib: Library) -> Array:
    xp, half = lib.xp, x.shape[-1] // 2
    cos, sin = (lib.astype(part, x.dtype) for part in (xp.cos(angle), xp.sin(angle)))
    first, second = x[..., :half], x[..., half:]
    return xp.concatenate([first * cos - second * sin, first * sin + second * cos], -1)
