"""Graphormer's spatial encoding: a learned number for each shortest-path distance between two nodes of a graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _window
from posenc.encodings._checked import CheckedBias
from posenc.positions.whole_positions import guarded


@dataclass(frozen=True)
class GraphDistance(CheckedBias):
    """bias(h, m, n) = table[min(d(m, n), rows - 1), h], d the length of the shortest path between two nodes of a graph.

    Ying et al. 2021, arXiv:2106.05234, the spatial encoding of Graphormer. The position of a node is the row of its
    distances to all nodes, so the positions of a graph are its distance matrix. Then d(m, n) = max_a |m_a - n_a|, which
    is at most d by the triangle inequality, and equal to d at a = n. Give all pairs without a path the same distance,
    at least rows - 1; they share the last row. (In Graphormer's tables row 0 is padding, and distance d has row d + 1.)
    For directed graphs, whose distances are not symmetric, this encoding does not apply.

    Positions are whole numbers, (*batch, n, nodes), and broadcast; params["table"] (rows, heads); the result has no
    unit.

    Args:
        heads: Heads of the layer.
        nodes: Nodes of the graph, each a coordinate.
        rows: Rows of the table (`num_spatial`).

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be checked gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> chain = [[0, 1, 2, 9], [1, 0, 1, 9], [2, 1, 0, 9], [9, 9, 9, 0]]  # three nodes in a row, and one apart
        >>> table = np.array([[0.0], [10.0], [20.0], [-1.0]])
        >>> GraphDistance(heads=1, nodes=4, rows=4).matrix(chain[:1], chain, {"table": table})[0].tolist()
        [[0.0, 10.0, 20.0, -1.0]]
    """

    nodes: Annotated[int, Whole(2, 1 << 16)]
    rows: Annotated[int, Whole(2, 1 << 20)] = 512

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned", "symmetric"})

    def _check_together(self) -> None:
        validation.size("rows", math.prod(self.shapes["table"]))

    @property
    def axes(self) -> int:
        return self.nodes

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (self.rows, self.heads)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """N(0, 0.02²), the usual spread of an embedding."""
        return {"table": rng.standard_normal(self.shapes["table"]) * 0.02}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, xp, wide = query.lib, query.lib.xp, query.lib.wide_dtype(dtype)
        steps, guard = _window.distances(query, key, self.axes)
        row = xp.clip(xp.amax(xp.abs(xp.stack(steps, -1)), -1), 0, self.rows - 1)
        return lib.astype(guarded(lib.astype(lib.entries(learned["table"], row, head), wide), guard), dtype)


ROW = Row(
    GraphDistance,
    (GraphDistance(heads=3, nodes=3, rows=5), GraphDistance(heads=2, nodes=2)),
    "Ying et al. 2021, arXiv:2106.05234",
    ("spatial_pos_encoder (Graphormer)",),
    "For graphs, whose distances are counted in edges.",
)
