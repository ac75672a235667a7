"""Positions with several coordinates, a row and a column, say: the last axis taken apart."""

from __future__ import annotations

from posenc import _array
from posenc._array import Array
from posenc.phase import checked


def coordinates(name: str, positions: Array, axes: int, *, like: Array | None = None) -> tuple[Array, ...]:
    """The coordinates of positions (*batch, n, axes), each of shape (*batch, n).

    like: an array whose library plain numbers follow. Raises ValueError or TypeError naming the argument for another last
    axis, a narrow or other dtype, and values that `phase` refuses.

    >>> [part.tolist() for part in coordinates("positions", [[0, 7], [1, 8]], 2)]
    [[0, 1], [7, 8]]
    """
    positions = checked(_array.as_array(name, positions, like), name)
    if positions.ndim == 0 or positions.shape[-1] != axes:
        raise ValueError(
            f"{name} must have a last axis of {axes} coordinates; got shape {tuple(positions.shape)}. Give (*batch, n, {axes})."
        )
    return tuple(positions[..., axis] for axis in range(axes))
