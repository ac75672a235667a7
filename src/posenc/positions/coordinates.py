"""Positions with several coordinates, a row and a column, say: the last axis taken apart."""

from __future__ import annotations

from posenc.core import checked_positions
from posenc.core.arrays import Array


def coordinates(name: str, positions: Array, axes: int, *, like: Array | None = None) -> tuple[Array, ...]:
    """The coordinates of positions (*batch, n, axes), each of shape (*batch, n).

    Args:
        like: An array whose library plain numbers follow.

    Raises:
        ValueError: A value breaks its rule; the message names the argument for another last axis, a narrow or other
            dtype, and values that `phase` refuses.
        TypeError: A value breaks its rule; the message names the argument for another last axis, a narrow or other
            dtype, and values that `phase` refuses.

    Example:
        >>> [part.tolist() for part in coordinates("positions", [[0, 7], [1, 8]], 2)]
        [[0, 1], [7, 8]]
    """
    parts = checked_positions.split_coordinates(checked_positions.checked(positions, name, like), axes, name)
    return tuple(part.array for part in parts)
