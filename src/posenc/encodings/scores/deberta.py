"""DeBERTa: content scored against a distance, and distance against content."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library, remembered
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Heads, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.biases.t5 import least_distance
from posenc.encodings.scores._by_distance import ByDistance, DistanceTerms
from posenc.positions.whole_positions import guarded, whole_distances

Terms = Literal["both", "c2p", "p2c"]


@dataclass(frozen=True)
class DeBERTa(ByDistance):
    """score(h, m, n) = (q_m · position_keys[h, r] + k_n · position_queries[h, r]) / √(dim·(1 + terms)), r = row(m - n).

    He et al. 2021, arXiv:2006.03654, eq. 4, m the query's position, n the key's. Content must be scaled alike: call
    attention with `scale=encoding.scale`. Of the released code: the key's term reads the row of m - n too, where the
    paper writes n - m; row(Δ) = clip(b(Δ) + buckets, 0, 2·buckets - 1). In v1 (`max_distance=None`) b(Δ) = Δ. In v2 and
    v3, with mid = buckets/2, b(Δ) = Δ up to |Δ| = mid, then ±(mid + ⌈(mid-1)·ln(|Δ|/mid) / ln((max_distance-1)/mid)⌉);
    the edges of buckets are computed exactly, in integers.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m), whole numbers;
    params["position_keys"] and params["position_queries"] (heads, 2·buckets, dim): the embeddings of distances times
    the projections of the layer (`share_att_key`: those of content). Result in float32 at least.

    Args:
        dim: Channels of a head.
        heads: Heads of the layer.
        buckets: Rows a direction (`position_buckets`; in v1 `max_relative_positions`).
        max_distance: Where the last bucket begins, in steps; None gives each distance a row.
        terms: "both", or "c2p" (the query's) or "p2c" (the key's) alone (`pos_att_type`).

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be seen gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> encoding = DeBERTa(dim=1, heads=1, buckets=2, max_distance=None, terms="c2p")
        >>> params = {"position_keys": np.arange(4.0)[None, :, None]}
        >>> q = np.full((1, 1, 1, 1), encoding.dim / encoding.scale)
        >>> encoding.score(q, q.repeat(5, 2), [5], [8, 6, 5, 4, 2], params).round(12).tolist()
        [[[[0.0, 1.0, 2.0, 3.0, 3.0]]]]
    """

    dim: Width
    heads: Heads
    buckets: int = 256
    max_distance: int | None = 512
    terms: Terms = "both"

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        spaced = self.max_distance is not None
        validation.settle(
            self,
            buckets=validation.integer(
                "buckets", self.buckets, 4 if spaced else 1, 1 << 12 if spaced else 1 << 20, even=spaced
            ),
        )
        if spaced:
            least = self.buckets // 2 + 2
            validation.settle(self, max_distance=validation.integer("max_distance", self.max_distance, least, 1 << 20))
        validation.size("buckets", self.heads * 2 * self.buckets * self.dim)

    @property
    def scale(self) -> float:
        """1/√(dim·(1 + terms)): what the logits of content are multiplied by."""
        return 1 / math.sqrt(self.dim * (3 if self.terms == "both" else 2))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        table = (self.heads, 2 * self.buckets, self.dim)
        named = {"c2p": "position_keys", "p2c": "position_queries"}
        return {name: table for term, name in named.items() if self.terms in ("both", term)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """N(0, 0.02²), the spread from which the authors' code draws."""
        return {name: rng.standard_normal(shape) * 0.02 for name, shape in self.shapes.items()}

    @property
    def changes_within(self) -> tuple[int, int]:
        most = self.buckets if self.max_distance is None else self.max_distance
        return -most, most

    def _terms(self, q: Array, k: Array, x: Array, steps: Positions, learned: Params) -> DistanceTerms:
        lib, terms, q = steps.lib, DistanceTerms(), q * self.scale
        row = self._row(-steps.array, lib)
        if "position_keys" in learned and q.shape[-2] == 1:
            products = q @ learned["position_keys"].swapaxes(-1, -2)
            index = lib.xp.broadcast_to(row, (*products.shape[:-1], row.shape[0]))
            terms = terms._replace(of_one_query=lib.take_along(products, index))
        elif "position_keys" in learned:
            terms = terms._replace(asked=q, of_queries=lib.rows_of_heads(learned["position_keys"], row))
        if "position_queries" in learned:
            of_keys = lib.rows_of_heads(learned["position_queries"], row)
            terms = terms._replace(told=k, of_keys=of_keys, factor=self.scale)
        return terms

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        lib = query.lib
        distance, guard = whole_distances(query, key)
        row = self._row(-distance, lib)
        first, last = lib.extremes(row) or (0, 2 * self.buckets - 1)  # the rows that these distances read
        row = lib.xp.broadcast_to(row - first, (*q.shape[:-1], k.shape[-2]))
        learned = {name: table[:, first : last + 1] for name, table in learned.items()}
        terms = []
        if "position_keys" in learned:
            terms.append(lib.take_along((q * self.scale) @ learned["position_keys"].swapaxes(-1, -2), row))
        if "position_queries" in learned:
            products = learned["position_queries"] @ (k * self.scale).swapaxes(-1, -2)
            terms.append(lib.take_along(products, row, -2))
        return guarded(sum(terms[1:], terms[0]), guard)

    def _row(self, steps: Array, lib: Library) -> Array:
        """Row of the tables for each distance m - n."""
        if self.max_distance is None:
            return lib.xp.clip(steps, -self.buckets, self.buckets - 1) + self.buckets
        most = self.max_distance
        return lib.constant(_lookup(self))[lib.xp.clip(steps, -most, most) + most]


@arrays.host
def _lookup(encoding: DeBERTa) -> np.ndarray:
    return row_of_distance(encoding.buckets, encoding.max_distance or 0)


@remembered(64)
def row_of_distance(buckets: int, most: int) -> np.ndarray:
    """The row of every distance from -most to most; shape (2·most + 1,)."""
    mid = buckets // 2
    edges = [*range(1, mid + 1), *(least_distance(mid, most - 1, step, mid - 1, beyond=True) for step in range(mid))]
    one_way = np.searchsorted(np.array(edges), np.arange(most + 1), side="right")
    rows: np.ndarray = np.clip(np.concatenate([-one_way[:0:-1], one_way]) + buckets, 0, 2 * buckets - 1)
    return rows


ROW = Row(
    DeBERTa,
    (
        DeBERTa(dim=4, heads=3, buckets=8, max_distance=20),
        DeBERTa(dim=3, heads=2, buckets=4, max_distance=None, terms="p2c"),
        DeBERTa(dim=4, heads=12, buckets=6, max_distance=9, terms="c2p"),
    ),
    "He et al. 2021, arXiv:2006.03654",
    ("DisentangledSelfAttention", "position_buckets (DeBERTa v2, v3)", "pos_att_type"),
    "For encoders that should weigh the meaning of a word and its distance separately.",
)
