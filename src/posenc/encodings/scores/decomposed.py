"""Decomposed relative positions: the query scores the distance along each axis of a grid separately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _window
from posenc.encodings._checked import CheckedScore
from posenc.positions.whole_positions import guarded, whole_distances


@dataclass(frozen=True)
class Decomposed(CheckedScore):
    """score(m, n) = Σ_a q_m · axis_a[Δ_a + size_a - 1], Δ = m - n along each axis of a grid.

    Li et al. 2022, arXiv:2112.01526 (MViTv2), as in ViTDet (Li et al. 2022, arXiv:2203.16527) and SAM: the query is not
    scaled, and the vectors are shared by all heads. Beyond the grid each axis shares its outermost distance. Tables of
    another size come from `resize_table(axis, (old,), (new,), prefix=0, method="bilinear", antialias=False)`, rows
    counted 2·size - 1. Keys pooled by r, as in MViTv2, stand at r·j + r - 1 on the grid of the queries.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n, axes) and (*batch, m, axes), whole
    numbers; params "axis_0", "axis_1", … (2·size_a - 1, dim), `rel_pos_h` and `rel_pos_w`. Result in float32 at least.

    Args:
        dim: Channels of a head.
        size: Places along each axis.

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be checked gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> params = {"axis_0": np.array([[1.0], [2.0], [3.0]]), "axis_1": np.array([[10.0], [20.0], [30.0]])}
        >>> q, k = np.ones((1, 1, 1, 1)), np.ones((1, 1, 3, 1))
        >>> Decomposed(dim=1, size=(2, 2)).score(q, k, [[1, 0]], [[1, 0], [0, 0], [0, 1]], params).tolist()
        [[[[22.0, 23.0, 13.0]]]]
    """

    dim: Width
    size: Annotated[tuple[int, ...], _window.sizes_of_window(2)] = (14, 14)

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        validation.size("dim", sum(math.prod(shape) for shape in self.shapes.values()))

    @property
    def axes(self) -> int:
        return len(self.size)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {f"axis_{axis}": (2 * size - 1, self.dim) for axis, size in enumerate(self.size)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw from N(0, 0.02²) as transformers does for ViTDet; its truncation at ±2 is 100 deviations out."""
        return {name: rng.standard_normal(shape) * 0.02 for name, shape in self.shapes.items()}

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        lib, xp, total = query.lib, query.lib.xp, 0.0
        pairs = _window.coordinate_pairs(query, key, self.axes)
        for axis, (size, (m, n)) in enumerate(zip(self.size, pairs, strict=True)):
            distance, guard = whole_distances(m, n)
            row = xp.clip(-distance, 1 - size, size - 1) + size - 1
            products = q @ learned[f"axis_{axis}"].swapaxes(0, 1)
            scores = lib.take_along(products, xp.broadcast_to(row, (*q.shape[:-1], k.shape[-2])))
            total = total + guarded(scores, guard)
        return total


ROW = Row(
    Decomposed,
    (Decomposed(dim=4, size=(3, 4)), Decomposed(dim=3, size=(2, 3, 2))),
    "Li et al. 2022, arXiv:2112.01526",
    ("rel_pos_h, rel_pos_w (ViTDet, SAM)", "cal_rel_pos_spatial (MViTv2)"),
    "For large grids, for which a table of all distances would be too large.",
)
