"""Learned positions on a grid of indices: a small table an axis in place of one long table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Spread, TupleOf, Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.positions.stretched_table import inside
from posenc.positions.whole_positions import whole

#: What `shape` and `dims` are, what to give in their place, and the fewest numbers in them.
SEVERAL = "a tuple of two or more whole numbers", "Give (64, 128), say.", 2


@dataclass(frozen=True)
class AxialLearned(AdditiveEncoding):
    """embed(p) = table_0[p ÷ b] ‖ table_1[p mod b] for shape (a, b): a·b positions from a + b vectors.

    Kitaev et al. 2020, arXiv:2001.04451, in the authors' released code; with more than two axes, p is the index into an
    array of shape `shape` (the last axis fastest), and each coordinate selects a row of its table.

    Positions (*batch, n), whole numbers from 0; params["table_0"] (shape[0], dims[0]) and so on; result (*batch, n, sum
    of dims).

    Args:
        shape: Rows of each table; their product is how many positions there are.
        dims: Channels of each table.
        std: Standard deviation of the fresh tables, 1 in the released code.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it. An invalid position that cannot be
            checked gives NaN.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> tables = {"table_0": np.array([[10.0], [20.0]]), "table_1": np.array([[1.0], [2.0], [3.0]])}
        >>> AxialLearned(shape=(2, 3), dims=(1, 1)).embed([0, 4], tables).tolist()
        [[10.0, 1.0], [20.0, 2.0]]
    """

    shape: Annotated[tuple[int, ...], TupleOf(Whole(1, 1 << 30), *SEVERAL)]
    dims: Annotated[tuple[int, ...], TupleOf(Whole(1), *SEVERAL)]
    std: Spread = 1.0

    claims = frozenset({"streaming", "bounded", "learned"})

    def _check_together(self) -> None:
        if len(self.shape) != len(self.dims):
            raise ValueError(
                f"dims must have a width for each of the {len(self.shape)} axes of shape; got {self.dims}. Give as "
                "many."
            )
        if self.length > 2**53:
            raise ValueError(f"shape must hold at most 2^53 positions; got {self.length}. Make an axis shorter.")
        for rows, width in zip(self.shape, self.dims, strict=True):
            validation.size("shape", rows * width)

    @cached_property
    def length(self) -> int:
        """How many positions there are."""
        return math.prod(self.shape)

    @property
    def width(self) -> int:
        return sum(self.dims)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {f"table_{axis}": sizes for axis, sizes in enumerate(zip(self.shape, self.dims, strict=True))}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {name: rng.standard_normal(sizes) * self.std for name, sizes in self.shapes.items()}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, tables, dtype = self.checked_call(positions, params, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        index, guard = whole("positions", positions)
        guard = guard + inside(index, self.length - 1, lib)
        rest = lib.xp.clip(index, 0, self.length - 1)
        parts: list[Array] = []
        for axis in reversed(range(len(self.shape))):
            parts.insert(0, lib.rows(tables[f"table_{axis}"], rest % self.shape[axis], wide))
            rest = rest // self.shape[axis]
        rows = lib.xp.concatenate(parts, -1)
        return lib.astype(rows + lib.astype(guard, wide)[..., None], dtype)


ROW = Row(
    AxialLearned,
    (AxialLearned(shape=(4, 8), dims=(3, 2)), AxialLearned(shape=(2, 3, 5), dims=(2, 1, 4), std=0.5)),
    "Kitaev et al. 2020, arXiv:2001.04451",
    ("AxialPositionEmbeddings (Reformer)", "AxialPositionalEncoding (Trax)"),
    "For very long inputs of a fixed length, for which a table with one row for each position would be too large.",
)
