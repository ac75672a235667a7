"""Learned positions on a grid from one short table an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Spread
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.adds.resize_table import grid_sizes
from posenc.positions.grid import on_grid


@dataclass(frozen=True)
class FactorisedLearned(AdditiveEncoding):
    """embed(p) = Σ_a table_a[p_a], or their concatenation: rows + columns vectors instead of rows·columns.

    Dehghani et al. 2023, arXiv:2307.06304 (NaViT's factorised positions, summed); Carion et al. 2020, arXiv:2005.12872,
    in released code (DETR's learned positions, concatenated).

    Give DETR and Gemma 4 positions as (column, row): `positions.grid(order="wh")`. Gemma 4 sums, and keeps both tables
    in one tensor (2, positions, dim).

    Positions (*batch, n, axes), whole numbers from 0; params["table_0"] (sizes[0], dims[0]) and so on; result (*batch,
    n, width).

    Args:
        sizes: Rows of each table, one a coordinate.
        dims: Channels of each; all alike where they are summed.
        combine: "summed" or "concatenated", in the order of the coordinates.
        std: Standard deviation of the fresh tables.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it. An invalid position that cannot be
            checked gives NaN.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> import numpy as np
        >>> tables = {"table_0": np.array([[10.0], [20.0]]), "table_1": np.array([[1.0], [2.0], [3.0]])}
        >>> FactorisedLearned(sizes=(2, 3), dims=(1, 1)).embed([[1, 2]], tables).tolist()
        [[23.0]]
    """

    sizes: Annotated[tuple[int, ...], grid_sizes(2)]
    dims: Annotated[tuple[int, ...], grid_sizes(2, validation.LARGEST_WIDTH)]
    combine: Literal["summed", "concatenated"] = "summed"
    std: Spread = 0.02

    claims = frozenset({"streaming", "bounded", "learned"})

    def _check_together(self) -> None:
        if len(self.dims) != len(self.sizes) or (self.combine == "summed" and len(set(self.dims)) > 1):
            number = "one number" if self.combine == "concatenated" else "the same number"
            raise ValueError(
                f"dims must be {number} for each coordinate of sizes={self.sizes}; got {self.dims}. Give as many as "
                "there are tables."
            )
        for rows, width in zip(self.sizes, self.dims, strict=True):
            validation.size("sizes", rows * width)

    @property
    def axes(self) -> int:
        return len(self.sizes)

    @property
    def width(self) -> int:
        return self.dims[0] if self.combine == "summed" else sum(self.dims)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {f"table_{axis}": sizes for axis, sizes in enumerate(zip(self.sizes, self.dims, strict=True))}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {name: rng.standard_normal(shape) * self.std for name, shape in self.shapes.items()}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, tables, dtype = self.checked_call(positions, params, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        indices, _, guard = on_grid(positions, self.sizes)
        parts = [lib.rows(tables[f"table_{axis}"], index, wide) for axis, index in enumerate(indices)]
        rows = sum(parts[1:], parts[0]) if self.combine == "summed" else lib.xp.concatenate(parts, -1)
        return lib.astype(rows + lib.astype(guard, wide)[..., None], dtype)


ROW = Row(
    FactorisedLearned,
    (
        FactorisedLearned(sizes=(13, 25), dims=(4, 4)),
        FactorisedLearned(sizes=(12, 24), dims=(3, 3), combine="concatenated", std=0.5),
    ),
    "Dehghani et al. 2023, arXiv:2307.06304",
    ("DetrLearnedPositionEmbedding", "position_embedding_table (Gemma 4)", "row_embedder (Pix2Struct)"),
    "For images of many sizes: each row and column is trained more often than each patch would be.",
)
