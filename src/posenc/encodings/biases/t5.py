"""The relative bias of T5: one learned number for each head and bucket of distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library, remembered
from posenc.core.checked_positions import Positions, checked
from posenc.core.declared_fields import Real, Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.positions.whole_positions import guarded, whole, whole_difference


@dataclass(frozen=True)
class T5Bias(CheckedBias):
    """bias(h, m, n) = scale · table[bucket(n - m), h], with n the key's position and m the query's.

    Raffel et al. 2020, arXiv:1910.10683, §2.1, with the buckets of the authors' code. Of the B buckets of a direction
    the first E = ⌊B/2⌋ hold one distance each; distance d ≥ E has bucket E + ⌊(B-E)·ln(d/E) / ln(max_distance/E)⌋, at
    most B-1. The edges of buckets are computed exactly, in integers. T5 itself does not scale its logits: use `scale=1`
    in the attention to reproduce it.

    Positions are whole numbers and broadcast; params["table"] (buckets, heads), as in T5 checkpoints; the result has no
    unit.

    Args:
        heads: Heads of the layer.
        buckets: Rows of the table, for both directions together.
        max_distance: From here on all distances share the last bucket, in steps.
        bidirectional: Keys after the query have the second half of the buckets; otherwise they share bucket 0
            (decoders).
        scale: 1 in T5; the square root of the width of a head in x-transformers.

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be checked gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> table = np.arange(8.0)[:, None]
        >>> T5Bias(heads=1, buckets=8, max_distance=16).matrix([4], [0, 2, 3, 4, 5, 9], {"table": table})[0].tolist()
        [[2.0, 2.0, 1.0, 0.0, 5.0, 6.0]]
    """

    buckets: int = 32
    max_distance: Annotated[int, Whole(2, 1 << 20)] = 128
    bidirectional: bool = True
    scale: Annotated[float, Real(0.0, 1e6, above=True)] = 1.0

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        both = validation.truth("bidirectional", self.bidirectional)
        validation.settle(
            self, buckets=validation.integer("buckets", self.buckets, 4 if both else 2, 1 << 12, even=both)
        )
        if self.max_distance <= self._one_way // 2:
            raise ValueError(
                f"max_distance must be above {self._one_way // 2}, the number of distances with a bucket of their own "
                f"for buckets={self.buckets}; got {self.max_distance}. Raise it, or take fewer buckets."
            )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (self.buckets, self.heads)}

    @property
    def _one_way(self) -> int:
        return self.buckets // 2 if self.bidirectional else self.buckets

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Uniform with variance 2 / (buckets + heads), as the authors' code draws it."""
        limit = math.sqrt(6 / (self.buckets + self.heads))
        return {"table": rng.uniform(-limit, limit, (self.buckets, self.heads))}

    def bucket(self, distance: Array) -> Array:
        """Bucket of each distance.

        Args:
            distance: Key position minus query position, whole steps, any shape.

        Returns:
            Row of the table for each distance, integers.

        Example:
            >>> T5Bias(heads=1).bucket([-200, -8, 0, 8]).tolist()
            [15, 8, 0, 24]
        """
        distance = checked(distance, "distance")
        return self._bucket(whole("distance", distance)[0], distance.lib)

    def _bucket(self, steps: Array, lib: Library) -> Array:
        farthest = self.max_distance
        return lib.constant(_lookup(self))[lib.xp.clip(steps, -farthest, farthest) + farthest]

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, wide = query.lib, query.lib.wide_dtype(dtype)
        distance, guard = whole_difference(query, key)
        table = lib.astype(learned["table"], wide)
        table = table if self.scale == 1.0 else table * self.scale
        return lib.astype(guarded(lib.entries(table, self._bucket(distance, lib), head), guard), dtype)


@remembered(64)
def _lookup(encoding: T5Bias) -> np.ndarray:
    """The bucket of every difference key - query from -max_distance to max_distance."""
    before = bucket_of_distance(encoding._one_way, encoding.max_distance).astype(np.int64)
    after = before[1:] + encoding._one_way if encoding.bidirectional else np.zeros_like(before[1:])
    return np.concatenate([before[::-1], after])


@remembered(64)
def bucket_of_distance(buckets: int, max_distance: int) -> np.ndarray:
    """The bucket of every distance from 0 to max_distance in one direction; shape (max_distance + 1,)."""
    exact = buckets // 2
    edges = [
        *range(1, exact + 1),
        *(least_distance(exact, max_distance, step, buckets - exact) for step in range(1, buckets - exact)),
    ]
    return np.searchsorted(np.array(edges), np.arange(max_distance + 1), side="right").astype(np.int16)


def least_distance(first: int, last: int, step: int, steps: int, *, beyond: bool = False) -> int:
    """Find the least integer d with (d/first)^steps ≥ (last/first)^step, or > it with `beyond`, in exact integers."""
    goal = last**step * first ** (steps - step) + beyond
    distance: int = max(1, round(first * (last / first) ** (step / steps)))
    while distance**steps >= goal:
        distance -= 1
    while distance**steps < goal:
        distance += 1
    return distance


ROW = Row(
    T5Bias,
    (
        T5Bias(heads=3),
        T5Bias(heads=2, buckets=8, max_distance=20),
        T5Bias(heads=12, buckets=7, max_distance=16, bidirectional=False),
        T5Bias(heads=2, buckets=10, max_distance=30, scale=8.0),
    ),
    "Raffel et al. 2020, arXiv:1910.10683",
    ("relative_attention_bias (T5)", "RelativePositionBiases (T5X)", "RelativePositionBias"),
    "For encoders and decoders that learn how much distances matter: each near one, and far ones in buckets.",
)
