"""Relative position representations: a learned vector a clipped distance, for keys and for values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_content import content, placed
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.scores._by_distance import ByDistance, DistanceTerms
from posenc.positions.whole_positions import guarded, whole_distances


@dataclass(frozen=True)
class Shaw(ByDistance):
    """score(m, n) = q_m · relative_keys[c] / √dim, output(m) = Σ_n weight(m, n) · relative_values[c].

    c = clip(n - m, -clip, ahead) + clip.

    Shaw et al. 2018, arXiv:1803.02155, eq. 3 (values), eq. 4 (scores) and §3.2 (clipping), with n the key's position
    and m the query's. The vectors are shared by all heads, as in §3.3.

    q: (*batch, heads, n, dim); positions (*batch, n) and (*batch, m), whole numbers; params["relative_keys"] and
    params["relative_values"] (clip+ahead+1, dim), row `clip` for distance 0. Results are float32 at least.

    Args:
        dim: Channels of a head.
        clip: The distance, in steps, from which on all distances share a vector.
        ahead: The same for keys ahead of the query; None for `clip`. Wav2Vec2-BERT has clip=64, ahead=8 and no values,
            which are zeros here.

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be checked gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> params = {"relative_keys": np.eye(3, 4), "relative_values": np.eye(3, 4)}
        >>> q = np.array([[[[1.0, 2.0, 3.0, 4.0]]]])
        >>> Shaw(dim=4, clip=1).score(q, q.repeat(4, 2), [5], [2, 4, 5, 6], params).tolist()
        [[[[0.5, 0.5, 1.0, 1.5]]]]
    """

    dim: Width
    clip: Annotated[int, Whole(0, 1 << 20)] = 16
    ahead: Annotated[int, Whole(0, 1 << 20)] | None = None

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        validation.size("clip", self.rows * self.dim)

    @property
    def rows(self) -> int:
        """How many vectors a table has."""
        return self.clip + self.clip_ahead + 1

    @property
    def clip_ahead(self) -> int:
        """The distance ahead of the query from which on all distances share a vector."""
        return self.clip if self.ahead is None else self.ahead

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"relative_keys": (self.rows, self.dim), "relative_values": (self.rows, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Uniform with variance 2 / (rows + dim): the paper names no distribution, this is its framework's default."""
        limit = math.sqrt(6 / (self.rows + self.dim))
        return {name: rng.uniform(-limit, limit, shape) for name, shape in self.shapes.items()}

    @property
    def changes_within(self) -> tuple[int, int]:
        return -self.clip, self.clip_ahead

    def _terms(self, q: Array, k: Array, x: Array, steps: Positions, learned: Params) -> DistanceTerms:
        row = steps.lib.xp.clip(steps.array, -self.clip, self.clip_ahead) + self.clip
        keys, values = learned["relative_keys"][row], learned["relative_values"][row]
        return DistanceTerms(q, keys[None] / math.sqrt(self.dim), of_values=values)

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        lib, (row, guard) = query.lib, self._rows(query, key)
        products = (q / math.sqrt(self.dim)) @ learned["relative_keys"].swapaxes(0, 1)
        row = lib.xp.broadcast_to(row, (*q.shape[:-1], k.shape[-2]))
        return guarded(lib.take_along(products, row), guard)

    def values(
        self, weights: Array, query_positions: Array, key_positions: Array, params: Params | None = None
    ) -> Array:
        table = self.checked(params)["relative_values"]
        lib = arrays.library(arrays.floats("weights", weights), table)
        weights = content("weights", weights, weights.shape[-1] if weights.ndim else None, None, lib)
        row, guard = self._rows(
            placed("query_positions", query_positions, weights, -2), placed("key_positions", key_positions, weights, -1)
        )
        # Weights of equal distance are summed first: no vector is made for each pair of positions.
        weights = guarded(weights, guard)
        shares = lib.sum_along(weights, lib.xp.broadcast_to(row, weights.shape), self.rows)
        return shares @ lib.astype(table, weights.dtype)

    def _rows(self, query_positions: Positions, key_positions: Positions) -> tuple[Array, Array | None]:
        """The row of every pair of positions, (*batch, 1, n, m), and a guard of the same shape or None."""
        distance, guard = whole_distances(query_positions, key_positions)
        return query_positions.lib.xp.clip(distance, -self.clip, self.clip_ahead) + self.clip, guard


ROW = Row(
    Shaw,
    (Shaw(dim=4), Shaw(dim=6, clip=2), Shaw(dim=4, clip=3, ahead=1)),
    "Shaw et al. 2018, arXiv:1803.02155",
    (
        "relative_key",
        "RelativeKeyPosition",
        "distance_embedding (Wav2Vec2-BERT)",
        "max_relative_position (tensor2tensor)",
    ),
    "For short sequences in which each near distance matters, at the cost of a score and a value for each.",
)
