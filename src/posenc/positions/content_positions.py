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


def own_heads(name: str, x: Array, dim: int, heads: int) -> Array:
    """Content as above, with the number of heads that a record states.

    >>> import numpy as np
    >>> own_heads("q", np.zeros((2, 3, 4)), 4, 2).shape
    (2, 3, 4)
    """
    x = content(name, x, dim)
    if x.shape[-3] != heads:
        raise ValueError(f"{name} must have {heads} heads; got shape {tuple(x.shape)}. Repeat grouped heads first.")
    return x


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


def queries_and_keys(
    q: Array, k: Array, query: Array, key: Array, dim: int, heads: int
) -> tuple[Array, Array, Array, Array]:
    """Content and positions of both, as the two functions above check them: q, k, query, key.

    >>> import numpy as np
    >>> parts = queries_and_keys(np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), [7, 8, 9], np.arange(5), 4, 2)
    >>> [part.shape for part in parts]
    [(2, 3, 4), (2, 5, 4), (3,), (5,)]
    """
    q, k = (own_heads(name, x, dim, heads) for name, x in (("q", q), ("k", k)))
    return q, k, placed("query", query, q, -2), placed("key", key, k, -2)


def inputs(hidden: Array | None, x: Array, width: int) -> Array:
    """The input of the layer at the places of x, (*batch, heads, places, dim): (*batch, places, width), as wide as x.

    >>> import numpy as np
    >>> inputs(np.zeros((2, 4)), np.zeros((3, 2, 8)), 4).shape
    (2, 4)
    """
    return _read(hidden, x, x.shape[-2], width)


def inputs_of_both(hidden: Array | None, q: Array, k: Array, width: int) -> tuple[Array, Array]:
    """The inputs of the layer at the places of q and at those of k, which stand behind them in `hidden`.

    >>> import numpy as np
    >>> [part.shape for part in inputs_of_both(np.zeros((5, 4)), np.zeros((3, 2, 8)), np.zeros((3, 3, 8)), 4)]
    [(2, 4), (3, 4)]
    """
    queries = q.shape[-2]
    hidden = _read(hidden, q, queries + k.shape[-2], width)
    return hidden[..., :queries, :], hidden[..., queries:, :]


def _read(hidden: Array | None, x: Array, places: int, width: int) -> Array:
    wanted = (*x.shape[:-3], places, width)
    if hidden is None:
        raise ValueError(
            f"hidden must hold the input of the layer, shape {tuple(wanted)}; got None. Give the vectors that q and k are made of."
        )
    _array.namespace(x, _array.floats("hidden", hidden))
    if tuple(hidden.shape) != tuple(wanted):
        raise ValueError(
            f"hidden must have shape {tuple(wanted)}, a vector for each place; got {tuple(hidden.shape)}. "
            "Give the vectors that q and k are made of."
        )
    return _array.astype(hidden, x.dtype)
