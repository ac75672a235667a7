"""TUPE: positions attend to positions, apart from content, and the class token is untied from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Real, Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.encodings.biases.t5 import T5Bias
from posenc.positions.whole_positions import whole

#: Rows of the table for distances, and the distance from which on all share the last one; both of the authors' code.
BUCKETS, FARTHEST = 32, 128


@dataclass(frozen=True)
class TUPE(CheckedBias):
    """bias(h, m, n) = Q_h(p_m)·K_h(p_n) / √(2·dim) + table[bucket(n - m), h]; where m or n is 0, numbers of its own.

    Ke et al. 2021, arXiv:2006.15595, in the authors' code (guolinke/TUPE). p are learned vectors of positions after a
    layer norm, Q and K linear layers of their own, the same in every layer of the model. Position 0 is the class token,
    which is untied: rows 0 and 1 of `positions` stand for "from it" and "to it", Q_h(p_0)·K_h(p_0) for its queries and
    Q_h(p_1)·K_h(p_1) for other queries towards it; position m ≥ 1 has row m + 1. TUPE divides its content by √(2·dim)
    too: use `scale` of the attention.

    Positions are whole numbers from 0 to length - 1 and broadcast; the result has no unit. params: "positions" (length
    + 1, w), "norm_weight" and "norm_bias" (w,), "query_weight" and "key_weight" (w, w), "query_bias" and "key_bias"
    (w,), with w = heads·dim, and "table" (buckets + 1, heads): row buckets/2 from the class token, the last towards it.
    Computed in float64 if available.

    Args:
        heads: Heads of the layer.
        dim: Channels of a head.
        length: Positions, with the class token.
        relative: Whether there is a table as in T5 (TUPE-R), with two rows for the class token, or none (TUPE-A).
        buckets: Rows of the table for distances, for both directions together.
        max_distance: From here on all distances share the last bucket, in steps.
        epsilon: Added to the variance of the layer norm.

    Raises:
        ValueError: An argument breaks its rule; the message names it. A refused position that cannot be seen gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> encoding, eye = TUPE(heads=1, dim=2, length=3, relative=False, epsilon=0.0), np.eye(2)
        >>> params = {"positions": np.array([[5.0, 1], [0, 3], [1, 0], [2, 7]]), "norm_weight": np.ones(2)}
        >>> params |= {"query_weight": eye, "key_weight": 2 * eye}
        >>> params |= {name: np.zeros(2) for name in ("norm_bias", "query_bias", "key_bias")}
        >>> encoding.matrix([0, 1, 2], [0, 1, 2], params)[0].tolist()  # every norm is (1, -1) or (-1, 1)
        [[2.0, 2.0, 2.0], [2.0, 2.0, -2.0], [2.0, -2.0, 2.0]]
    """

    dim: Width
    length: Annotated[int, Whole(2, 1 << 20)]
    relative: bool = True
    buckets: int = BUCKETS
    max_distance: int = FARTHEST
    epsilon: Annotated[float, Real(0.0, 1.0)] = 1e-5

    claims = frozenset({"streaming", "bounded", "learned"})

    def _check_together(self) -> None:
        width = self.heads * self.dim
        validation.size("length", (self.length + 1) * width)
        validation.size("dim", width * width)
        validation.settle(self, buckets=self.distances.buckets, max_distance=self.distances.max_distance)
        if not self.relative and (self.buckets, self.max_distance) != (BUCKETS, FARTHEST):
            raise ValueError(
                f"buckets and max_distance must be left out with relative=False, which has no table; got "
                f"{self.buckets} and {self.max_distance}. Leave them out."
            )

    @cached_property
    def distances(self) -> T5Bias:
        """`T5Bias` whose buckets of distances select the rows of the table."""
        return T5Bias(heads=self.heads, buckets=self.buckets, max_distance=self.max_distance)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        width = self.heads * self.dim
        vectors = dict.fromkeys(("norm_weight", "norm_bias", "query_bias", "key_bias"), (width,))
        squares = dict.fromkeys(("query_weight", "key_weight"), (width, width))
        table = {"table": (self.buckets + 1, self.heads)} if self.relative else {}
        return {"positions": (self.length + 1, width), **vectors, **squares, **table}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """N(0, 0.02²), as the authors' BERT draws it; ones for the weight of the norm, zeros for all biases."""
        shapes = self.shapes
        fixed = {
            name: np.full(shape, 1.0 * (name == "norm_weight")) for name, shape in shapes.items() if len(shape) < 2
        }
        return {name: fixed.get(name, 0.02 * rng.standard_normal(shape)) for name, shape in shapes.items()}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, xp = query.lib, query.lib.xp
        (m, outside_m), (n, outside_n) = (
            self._index(name, at) for name, at in (("query_positions", query), ("key_positions", key))
        )
        learned = {name: lib.widest(value) for name, value in learned.items()}
        asking, asked = (self._projected(learned, side, lib) for side in ("query", "key"))

        def product(row: Array, column: Array) -> Array:
            rows = (lib.picked(side, at * self.heads + head) for side, at in ((asking, row), (asked, column)))
            return lib.contracted(*rows) / math.sqrt(2 * self.dim)

        from_class, to_class = (product(xp.full_like(head, at), xp.full_like(head, at)) for at in (0, 1))
        number = xp.where(m == 0, from_class, xp.where(n == 0, to_class, product(m + 1, n + 1)))
        if self.relative:
            row = xp.where(n == 0, self.buckets, self.distances.bucket(n - m))
            number = number + lib.entries(learned["table"], xp.where(m == 0, self.buckets // 2, row), head)
        return lib.astype(lib.astype(number + outside_m + outside_n, lib.wide_dtype(dtype)), dtype)

    def _projected(self, learned: Params, side: str, lib: Library) -> Array:
        """Q or K of every position and head, ((length + 1)·heads, dim)."""
        vectors = learned["positions"]
        # Twice: in float32 the first mean is off by a rounding of the vectors, which a small deviation makes large.
        centred = _centred(_centred(vectors))
        variance = (centred * centred).sum(-1)[:, None] / vectors.shape[-1]
        normal = centred / lib.xp.sqrt(variance + self.epsilon) * learned["norm_weight"] + learned["norm_bias"]
        with lib.full_precision():
            projected = normal @ learned[f"{side}_weight"].swapaxes(0, 1) + learned[f"{side}_bias"]
        return projected.reshape((-1, self.dim))

    def _index(self, name: str, positions: Positions) -> tuple[Array, Array]:
        """Positions as integers from 0 to length - 1, and a guard: NaN for unreadable invalid ones, else 0.0."""
        lib, last = positions.lib, self.length - 1
        index, guard = whole(name, positions)
        ends = lib.extremes(index)
        if ends is not None and not (ends[0] >= 0 and ends[1] <= last):
            raise ValueError(
                f"{name} must hold positions from 0 to {last}, which is as far as the learned ones reach; got values "
                f"from {ends[0]} to {ends[1]}. Raise length, and train again."
            )
        fits = (index >= 0) & (index <= last)
        return lib.xp.clip(index, 0, last), lib.xp.where(fits, guard, float("nan"))


def _centred(vectors: Array) -> Array:
    return vectors - vectors.sum(-1)[:, None] / vectors.shape[-1]


ROW = Row(
    TUPE,
    (
        TUPE(heads=3, dim=4, length=512, buckets=8, max_distance=9),
        TUPE(heads=2, dim=3, length=501, relative=False, epsilon=1e-3),
    ),
    "Ke et al. 2021, arXiv:2006.15595",
    ("TUPE-R", "TUPE-A", "pos_q_linear and pos_k_linear (guolinke/TUPE)"),
    "For encoders of one length that should learn which positions attend to which, whatever they hold.",
)
