"""A learned vector for every patch of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Spread, Whole, Width
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.adds.resize_table import grid_sizes, resize_table
from posenc.positions.grid import on_grid


@dataclass(frozen=True)
class GridLearned(AdditiveEncoding):
    """embed(row, column) = table[prefix + row·columns + column]: a trainable vector for each patch.

    Dosovitskiy et al. 2020, arXiv:2010.11929, §3.1, where the table is resized for images of another size (§3.2).

    A grid of another size: `resized`. Positions off the grid are refused.

    Positions (*batch, n, axes), whole numbers; params["table"] (prefix + patches, dim); result (*batch, n, dim).

    Args:
        dim: Channels of the embedding.
        sizes: Rows and columns of the grid (or frames, rows and columns), the last counted fastest.
        prefix: Tokens before the patches that have a vector too, such as a class token: token j stands at (-1, j) (with
            frames at (-1, 0, j)), as `positions.prefixed` places it.
        std: Standard deviation of the fresh table.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it. An invalid position that cannot be
            checked gives NaN.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> import numpy as np
        >>> table = {"table": np.array([[9.0], [0.0], [1.0], [2.0], [3.0]])}
        >>> GridLearned(dim=1, sizes=(2, 2), prefix=1).embed([[-1, 0], [0, 1], [1, 0]], table).tolist()
        [[9.0], [1.0], [2.0]]
    """

    dim: Width
    sizes: Annotated[tuple[int, ...], grid_sizes(2)]
    prefix: Annotated[int, Whole(0, 1 << 20)] = 0
    std: Spread = 0.02

    claims = frozenset({"streaming", "bounded", "learned"})

    def _check_together(self) -> None:
        validation.size("sizes", (self.prefix + math.prod(self.sizes)) * self.dim)

    @property
    def axes(self) -> int:
        return len(self.sizes)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (self.prefix + math.prod(self.sizes), self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {name: rng.standard_normal(shape) * self.std for name, shape in self.shapes.items()}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, learned, dtype = self.checked_call(positions, params, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        indices, front, guard = on_grid(positions, self.sizes, prefix=self.prefix)
        row = indices[0]
        for index, size in zip(indices[1:], self.sizes[1:], strict=True):
            row = row * size + index
        row = lib.xp.where(front, indices[-1], row + self.prefix)
        rows = lib.rows(learned["table"], row, wide)
        return lib.astype(rows + lib.astype(guard, wide)[..., None], dtype)

    def resized(
        self,
        params: Params,
        sizes: tuple[int, ...],
        *,
        method: str,
        antialias: bool,
        align_corners: bool = False,
        outside: str = "border",
    ) -> tuple[GridLearned, dict[str, Array]]:
        """Resize the table to another grid, by `resize_table`; the vectors before the grid are kept.

        Args:
            params: The parameters of this encoding.
            sizes: Sizes of the other grid.
            method: As in `resize_table`.
            antialias: As in `resize_table`.
            align_corners: As in `resize_table`.
            outside: As in `resize_table`.

        Returns:
            The encoding of the other grid, and its parameters.
        """
        table = self.checked(params)["table"]
        encoding = replace(self, sizes=sizes)
        resized = resize_table(
            table,
            self.sizes,
            encoding.sizes,
            prefix=self.prefix,
            method=method,
            antialias=antialias,
            align_corners=align_corners,
            outside=outside,
        )
        return encoding, {"table": resized}


ROW = Row(
    GridLearned,
    (GridLearned(dim=4, sizes=(13, 25)), GridLearned(dim=3, sizes=(9, 20), prefix=2, std=0.5)),
    "Dosovitskiy et al. 2020, arXiv:2010.11929",
    ("pos_embed (timm)", "position_embeddings (ViT)", "interpolate_pos_encoding", "resample_abs_pos_embed"),
    "For many images of one size; for another size, resize the table.",
)
