"""A learned table of a grid, resized to another grid: separable filters, made on the host, one product an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, remembered
from posenc.core.declared_fields import Declared, TupleOf, Whole

METHODS = ("bicubic", "bilinear", "tiled")
OUTSIDE = ("border", "zeros")
#: The free number of Keys' cubic: what PyTorch takes without antialias, and with it (as Pillow does).
KEYS, KEYS_ANTIALIAS = -0.75, -0.5
LONGEST = 1 << 14


def grid_sizes(least: int, most: int = LONGEST) -> TupleOf:
    """Make the field validator for a tuple of `least` to 3 grid sizes, each from 1 to `most`."""
    return TupleOf(Whole(1, most), f"a tuple of {least} to 3 sizes", "Give (16, 16), say.", least, 3)


@dataclass(frozen=True)
class Resizing(Declared):
    """Rule by which a model resizes its learned table to the grid of an image, as `LayerGroup.resizing` states it.

    Args:
        method: "bicubic", "bilinear" or "tiled", as in `resize_table`.
        antialias: Whether the filter is widened where the grid shrinks.
        align_corners: Whether corner patches coincide, rather than the edges of the grids.
        outside: "border" or "zeros", as in `resize_table`.

    Raises:
        ValueError: A field breaks its rule; the message names it.
        TypeError: A field has the wrong type.

    Example:
        >>> import numpy as np
        >>> table = np.arange(4.0)[:, None]
        >>> Resizing("bilinear", antialias=False, align_corners=True).table(table, (1, 4), (1, 3), prefix=0).tolist()
        [[0.0], [1.5], [3.0]]
    """

    method: Literal["bicubic", "bilinear", "tiled"]
    antialias: bool
    align_corners: bool
    outside: Literal["border", "zeros"] = "border"

    def _check_together(self) -> None:
        _check_rule(self.method, self.antialias, self.align_corners, self.outside)

    def table(self, table: Array, old: tuple[int, ...], new: tuple[int, ...], *, prefix: int) -> Array:
        """Resize a table of the grid `old` to the grid `new`, by `resize_table`.

        Args:
            table: The vectors, (prefix + rows·columns, dim).
            old: Sizes of the grid of the table.
            new: Sizes of the grid of the result.
            prefix: Rows before the grid, which are kept.

        Returns:
            The resized table, (prefix + new rows·columns, dim).
        """
        return resize_table(
            table,
            old,
            new,
            prefix=prefix,
            method=self.method,
            antialias=self.antialias,
            align_corners=self.align_corners,
            outside=self.outside,
        )

    def __str__(self) -> str:
        if self.method == "tiled":
            return "tiled"
        corners = "corner patches on corner patches" if self.align_corners else "edges on edges"
        outside = ", with zeros outside" if self.outside == "zeros" else ""
        return f"{self.method}, {corners}, {'with' if self.antialias else 'without'} antialias{outside}"


def resize_table(
    table: Array,
    old: tuple[int, ...],
    new: tuple[int, ...],
    *,
    prefix: int,
    method: str,
    antialias: bool,
    align_corners: bool = False,
    outside: str = "border",
) -> Array:
    """Resize a table (prefix + rows·columns, dim) of a grid `old` to a grid `new`.

    The first `prefix` rows are kept.

    Each axis is filtered by itself: new row i reads from old place (i + 0.5)·old/new - 0.5, so that the edges of both
    grids coincide, or with `align_corners` from i·(old - 1)/(new - 1), so that their corner patches do. Keys 1981,
    "Cubic convolution interpolation for digital image processing", with a = -0.75, or the straight line. With antialias
    the filter is widened by old/new where the grid shrinks, a = -0.5, and cut and normalised at the border.

    NumPy, PyTorch or JAX; formed in float32 at least and rounded once to the dtype of the table; gradients pass.

    Args:
        table: The vectors, (prefix + rows·columns, dim).
        old: Rows and columns (or frames, rows and columns) of the table, the last counted fastest, always both: a
            square is never assumed.
        new: Rows and columns (or frames, rows and columns) of the result.
        prefix: Tokens in front, such as a class token.
        method: "bicubic" or "bilinear"; "tiled" begins again after the last row, as SAM 3 does, and filters nothing.
        antialias: Timm says True and transformers False.
        align_corners: Qwen3-VL says True, ViT False.
        outside: "border" repeats the border; "zeros" counts what lies beyond it as 0, as Muse does.

    Returns:
        The table of the new grid, (prefix + new rows·columns, dim), in the dtype of `table`.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> table = np.arange(4.0)[:, None]
        >>> resize_table(table, (1, 4), (1, 2), prefix=0, method="bilinear", antialias=False).tolist()
        [[0.5], [2.5]]
    """
    old, new = grid_sizes(1)("old", old), grid_sizes(1)("new", new)
    prefix = validation.integer("prefix", prefix, 0, 1 << 20)
    rule = _check_rule(method, antialias, align_corners, outside)
    if len(old) != len(new):
        raise ValueError(f"new must have as many axes as old={old}; got {new}. Give rows and columns of both.")
    table = arrays.floats("table", table)
    rows = prefix + math.prod(old)
    if table.ndim != 2 or table.shape[0] != rows:
        raise ValueError(
            f"table must have shape ({rows}, dim) for prefix={prefix} and old={old}; got {tuple(table.shape)}. State "
            "the grid it was learned on."
        )
    validation.size("new", math.prod(new) * table.shape[1])
    lib = arrays.library(table)
    wide, xp = lib.wide(table), lib.xp
    grid = wide[prefix:].reshape((*old, table.shape[1]))
    for axis, (before, after) in enumerate(zip(old, new, strict=True)):
        weights = lib.constant(filter_weights(before, after, *rule), grid.dtype)
        grid = xp.moveaxis(lib.product(weights, xp.moveaxis(grid, axis, -2)), -2, axis)
    whole = xp.concatenate([wide[:prefix], grid.reshape((math.prod(new), table.shape[1]))], 0)
    return lib.astype(whole, table.dtype)


def _check_rule(method: str, antialias: bool, align_corners: bool, outside: str) -> tuple[str, bool, bool, str]:
    """Check that "tiled" comes without the other three, and antialias without align_corners and outside "zeros"."""
    method, outside = validation.choice("method", method, METHODS), validation.choice("outside", outside, OUTSIDE)
    validation.truth("antialias", antialias), validation.truth("align_corners", align_corners)
    filters = {"antialias": antialias, "align_corners": align_corners, "outside": outside}
    stated = [name for name, value in filters.items() if value not in (False, "border")]
    if method == "tiled" and stated:
        wrong, other = stated[0], "method='tiled'"
    elif antialias and stated[1:]:
        wrong, other = stated[1], "antialias=True"
    else:
        return method, antialias, align_corners, outside
    raise ValueError(f"{wrong} must be left out with {other}; got {filters[wrong]!r}. No released code has both.")


@remembered(64)
def filter_weights(
    old: int, new: int, method: str, antialias: bool, align_corners: bool = False, outside: str = "border"
) -> np.ndarray:
    """Make the matrix (new, old) that resizes one axis; rows sum to 1, except at the border with outside="zeros"."""
    if method == "tiled":
        tiled: np.ndarray = np.eye(old)[np.arange(new) % old]
        return tiled
    if align_corners:
        centre = np.arange(new) * (old - 1) / max(new - 1, 1)
    else:
        centre = (2 * np.arange(new) + 1) * old / (2 * new) - 0.5
    stretch = max(old / new, 1.0) if antialias else 1.0
    reach = math.ceil({"bicubic": 2, "bilinear": 1}[method] * stretch) + 1
    near = np.floor(centre).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
    share = _kernel(method, antialias)(np.abs((near - centre[:, None]) / stretch))
    if antialias or outside == "zeros":  # nothing beyond the border counts
        share = np.where((near >= 0) & (near < old), share, 0.0)
    if antialias:
        share /= share.sum(-1, keepdims=True)
    weights = np.zeros((new, old))
    np.add.at(weights, (np.arange(new)[:, None], np.clip(near, 0, old - 1)), share)
    return weights


def _kernel(method: str, antialias: bool) -> Any:
    """The filter as a function of the distance in steps."""
    if method == "bilinear":
        return lambda x: np.maximum(1.0 - x, 0.0)
    a = KEYS_ANTIALIAS if antialias else KEYS

    def cubic(x: np.ndarray) -> np.ndarray:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x < 1, near, np.where(x < 2, far, 0.0))

    return cubic
