"""Positions of patches on a grid: whole rows and columns, coordinates of centres, and counts of what a mask leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, check_like, checked, split_coordinates
from posenc.positions.whole_positions import whole

#: The most patches on one side.
LONGEST = 1 << 26
#: What DETR adds to the last count before it divides by it.
EPSILON = 1e-6


def grid(
    height: int, width: int, *, frames: int | None = None, order: str | None = None, start: int | Sequence[int] = 0
) -> np.ndarray:
    """Coordinates of patches read row by row (frame by frame).

    Args:
        height: Number of rows.
        width: Number of columns.
        frames: Number of frames; None for an image, without that coordinate.
        order: Order of the coordinates, a permutation of "hw" or, with frames, of "thw"; the patches are always read in
            the same order, the last column fastest. Most models write "hw"; MAE's sinusoids and rope-vit write "wh".
            None is "hw" or "thw".
        start: Number from which counting begins, one or one for each coordinate in that order.

    Returns:
        (height·width, 2), or (frames·height·width, 3); int64.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is out of range, or `order` or `start` does not fit the coordinates.

    Example:
        >>> grid(2, 3).tolist()
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
        >>> grid(1, 2, frames=2, order="twh", start=(0, 1, 1)).tolist()
        [[0, 1, 1], [0, 2, 1], [1, 1, 1], [1, 2, 1]]
    """
    sizes = _sizes(height, width, frames)
    order = _order(order, "".join(sizes))
    first = _starts(start, len(sizes))
    read = dict(zip(sizes, np.indices(tuple(sizes.values()), dtype=np.int64).reshape(len(sizes), -1), strict=True))
    cells: np.ndarray = np.stack([read[axis] for axis in order], -1) + first
    return cells


def centres(height: int, width: int, *, order: str | None = None, divide: str = "each") -> np.ndarray:
    """Coordinates of the middles of patches, (2·i + 1)/n - 1, from -1 to 1 over the image.

    Args:
        height: Number of rows.
        width: Number of columns.
        order: Order of the coordinates, "hw" (None) or "wh".
        divide: Meaning of n: the side "each" coordinate lies on, or for both the "longest" or the "shortest" side,
            which keeps patches square ("max" and "min" in the released code).

    Returns:
        (height·width, 2), float64.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is out of range, or a word is unknown.

    References:
        Siméoni et al. 2025, arXiv:2508.10104 (DINOv3), in its released code.

    Example:
        >>> centres(1, 2).tolist()
        [[0.0, -0.5], [0.0, 0.5]]
    """
    divide = validation.choice("divide", divide, ("each", "longest", "shortest"))
    order = _order(order, "hw")
    cells = grid(height, width, order=order)
    sides = {"h": int(height), "w": int(width)}
    if divide != "each":
        sides = dict.fromkeys("hw", (max if divide == "longest" else min)(sides.values()))
    centred: np.ndarray = (2 * cells + 1) / np.array([sides[axis] for axis in order]) - 1.0
    return centred


def grid_from_mask(mask: Array, *, span: float | None = None) -> Array:
    """Count rows and columns from 1 where a mask is true, as DETR counts them.

    Beyond the image a count stays at its last value.

    Args:
        mask: (*batch, height, width), true or 1 for pixels of the image.
        span: None for whole counts; a number to divide each count by the last one of its column or row (plus 1e-6) and
            multiply it by the span (DETR's `normalize`, with 2π).

    Returns:
        (*batch, height·width, 2), the row first; integers, or the widest float with a span.

    Raises:
        TypeError: `mask` holds no truth values, or `span` is no number.
        ValueError: `mask` has fewer than two axes, or `span` is out of range.

    References:
        Carion et al. 2020, arXiv:2005.12872, in its released code.

    Example:
        >>> grid_from_mask([[1, 1, 0], [1, 1, 0]]).tolist()
        [[1, 1], [1, 2], [0, 2], [2, 1], [2, 2], [0, 2]]
    """
    mask = arrays.as_mask("mask", mask)
    if mask.ndim < 2:
        raise ValueError(
            f"mask must have the shape (*batch, height, width); got {tuple(mask.shape)}. Give the mask of an image."
        )
    lib = arrays.library(mask)
    one = lib.astype(mask, lib.integer)
    counts = [lib.astype(lib.xp.cumsum(one, axis), one.dtype) for axis in (-2, -1)]
    if span is not None:
        span = validation.real("span", span, 0.0, 1e6, above=True)
        rows, columns = (lib.widest(count) for count in counts)
        counts = [rows / (rows[..., -1:, :] + EPSILON) * span, columns / (columns[..., -1:] + EPSILON) * span]
    stacked = lib.xp.stack(counts, -1)
    return stacked.reshape((*mask.shape[:-2], mask.shape[-2] * mask.shape[-1], 2))


def prefixed(positions: Array, count: int) -> Array:
    """Put tokens, such as a class token, before the patches: token j stands at (-1, …, 0, j), above the grid.

    `GridLearned(prefix=count)` keeps a vector for each of them.

    Args:
        positions: (n, axes), whole numbers.
        count: Number of tokens.

    Returns:
        (count + n, axes), in the widest signed integers of the library of `positions`.

    Raises:
        TypeError: `positions` are no numbers, or `count` is no whole number.
        ValueError: `positions` are no whole numbers of that shape, or `count` is out of range.

    Example:
        >>> prefixed(grid(1, 2), 1).tolist()
        [[-1, 0], [0, 0], [0, 1]]
    """
    given = checked(positions)
    lib, positions = given.lib, given.lib.signed(given.array)
    if positions.ndim != 2 or positions.shape[-1] < 2 or not given.integers:
        raise ValueError(
            "positions must be whole rows and columns of shape (n, axes); got "
            f"{arrays.dtype_name(given.array.dtype)} of shape {tuple(positions.shape)}. Give grid(height, width)."
        )
    count = validation.integer("count", count, 0, LONGEST)
    before = np.zeros((count, positions.shape[-1]), np.int64)
    before[:, 0], before[:, -1] = -1, np.arange(count)
    return lib.xp.concatenate([lib.constant(before, lib.integer), positions], 0)


def on_grid(
    positions: Array | Positions, sizes: tuple[int, ...], *, prefix: int = 0, like: Array | None = None
) -> tuple[tuple[Array, ...], Array, Array]:
    """Indices of positions (*batch, n, axes) on a grid, a mask of the tokens before it, and a guard, each (*batch, n).

    A token before the grid has its number as its last index. The guard is 0.0, or NaN for a position off the grid that
    could not be read; ValueError for one that can be.

    Example:
        >>> (row, column), front, _ = on_grid([[1, 2], [-1, 0]], (2, 3), prefix=1)
        >>> row.tolist(), column.tolist(), front.tolist()
        ([1, 0], [2, 0], [False, True])
    """
    positions = checked(positions, like=like)
    whole_coordinates = [whole("positions", coordinate) for coordinate in split_coordinates(positions, len(sizes))]
    first, last = whole_coordinates[0][0], whole_coordinates[-1][0]
    lib, xp = positions.lib, positions.lib.xp
    front, inside = (first == -1) & (last >= 0) & (last < prefix), first == first
    for index, _ in whole_coordinates[1:-1]:
        front = front & (index == 0)
    for (index, _), size in zip(whole_coordinates, sizes, strict=True):
        inside = inside & (index >= 0) & (index < size)
    fits = front | inside
    if lib.concrete(fits) and not fits.all().item():
        where = ~fits.reshape(-1)
        bad = tuple(index.reshape(-1)[where][0].item() for index, _ in whole_coordinates)
        before = f", or (-1, …, j) of a token j below {prefix} before it" if prefix else ""
        raise ValueError(
            f"positions must be on the grid of {sizes}{before}; got {bad}. Resize the table to a larger grid."
        )
    zero = sum((guard for _, guard in whole_coordinates[1:]), whole_coordinates[0][1])
    guard = xp.where(fits, zero, float("nan"))
    safe = [xp.clip(index, 0, size - 1) for (index, _), size in zip(whole_coordinates, sizes, strict=True)]
    if prefix:
        safe[-1] = xp.where(front, xp.clip(last, 0, prefix - 1), safe[-1])
    return tuple(safe), front, guard


def coordinates(name: str, positions: Array, axes: int, *, like: Array | None = None) -> tuple[Array, ...]:
    """Split positions (*batch, n, axes) into their coordinates.

    Args:
        name: Name of the argument, for messages.
        positions: (*batch, n, axes), integers, float32 or float64.
        axes: Number of coordinates.
        like: Array whose library plain numbers follow.

    Returns:
        Array (*batch, n) for each coordinate.

    Raises:
        TypeError: Positions have another dtype.
        ValueError: The last axis has another length, or positions are out of range.

    Example:
        >>> [part.tolist() for part in coordinates("positions", [[0, 7], [1, 8]], 2)]
        [[0, 1], [7, 8]]
    """
    axes = validation.integer("axes", axes, 1)
    check_like(like)
    parts = split_coordinates(checked(positions, validation.text("name", name), like), axes, name)
    return tuple(part.array for part in parts)


def _sizes(height: int, width: int, frames: int | None) -> dict[str, int]:
    """Size of each coordinate, the slowest first."""
    sizes_by_axis = {"t": ("frames", frames), "h": ("height", height), "w": ("width", width)}
    sizes = {
        axis: validation.integer(name, size, 0, LONGEST)
        for axis, (name, size) in sizes_by_axis.items()
        if axis != "t" or size is not None
    }
    total = len(sizes)
    for size in sizes.values():
        total *= size
    validation.size("height and width", total)
    return sizes


def _order(order: str | None, axes: str) -> str:
    """Order of the coordinates, or the error that says what it must be."""
    if order is None:
        return axes
    if not isinstance(order, str):
        raise TypeError(f"order must be a permutation of {axes!r}; got {validation.shown(order)}. Give {axes!r}.")
    if sorted(order) != sorted(axes):
        raise ValueError(f"order must be a permutation of {axes!r}; got {order!r}. Give {axes!r}.")
    return order


def _starts(start: int | Sequence[int], axes: int) -> np.ndarray:
    """Start of each coordinate."""
    sizes_by_axis = tuple(start) if isinstance(start, list | tuple) else (start,) * axes
    if len(sizes_by_axis) != axes:
        raise ValueError(
            f"start must be one number or {axes}; got {validation.shown(start)}. Give one for each coordinate."
        )
    return np.array(
        [validation.integer("start", first, -(2**53), 2**53 - LONGEST) for first in sizes_by_axis], np.int64
    )
