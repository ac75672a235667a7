"""What angles that tokens choose do to a logit: shared by the scores that turn queries and keys."""

from __future__ import annotations

import math

from posenc import _array
from posenc._array import Array


def added(q: Array, k: Array, there: Array, here: Array) -> Array:
    """(R(there)q · R(here)k - q·k) / √dim: what turning adds to the plain product, which attention adds itself.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); there and here: angles of their pairs (i, i + dim/2).
    """
    turned = _turned(q, there) @ _turned(k, here).swapaxes(-1, -2)
    return (turned - q @ k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])


def _turned(x: Array, angle: Array) -> Array:
    xp, half = _array.namespace(x), x.shape[-1] // 2
    cos, sin, first, second = xp.cos(angle), xp.sin(angle), x[..., :half], x[..., half:]
    return xp.concatenate([first * cos - second * sin, first * sin + second * cos], -1)
