"""Content and the positions of its places: do they belong together?"""

from __future__ import annotations

from posenc import _array
from posenc._array import Array
from posenc.phase import checked


def content(name: str, x: Array, dim: int) -> Array:
    """Heads of queries or keys, (*batch, heads, places, dim), in float32 at least; another shape or kind is refused.

    >>> import numpy as np
    >>> content("q", np.zeros((2, 3, 4), np.float16), 4).dtype
    dtype('float32')
    """
    x = _array.floats(name, x)
    if x.ndim < 3 or x.shape[-1] != dim:
        raise ValueError(
            f"{name} must have shape (*batch, heads, places, {dim}); got {tuple(x.shape)}. Give whole heads."
        )
    return _array.wide(x)


def placed(name: str, positions: Array, x: Array, axis: int) -> Array:
    """Positions, (places,) or (*batch, places), of the places on an axis of x, (*batch, heads, ., .).

    >>> import numpy as np
    >>> placed("query", [5, 6], np.zeros((2, 3, 2, 4)), -2).tolist()
    [5, 6]
    """
    positions = checked(_array.as_array(name, positions, like=x), name)
    _array.namespace(x, positions)
    batch, own = tuple(x.shape[:-3]), tuple(positions.shape[:-1])
    fits = positions.ndim > 0 and positions.shape[-1] == x.shape[axis] and len(own) in (0, len(batch))
    if not fits or any(mine not in (1, theirs) for mine, theirs in zip(own, batch, strict=False)):
        raise ValueError(
            f"{name} must hold a position for each of {x.shape[axis]} places, shape {(x.shape[axis],)} or "
            f"{(*batch, x.shape[axis])}; got {tuple(positions.shape)}. Give the positions of these tokens."
        )
    return positions
