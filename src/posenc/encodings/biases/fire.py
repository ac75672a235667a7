"""FIRE: a small network of the distance, taken relative to the query's own position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Real, Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.encodings._layers import over_pairs
from posenc.positions.distance import steps


@dataclass(frozen=True)
class FIRE(CheckedBias):
    """bias(h, m, n) = f_h(ψ(|m - n|) / (ψ(max(|threshold·multiplier|, m)) + epsilon)), ψ(x) = ln(1 + |c·x|).

    Li et al. 2023, arXiv:2310.04418, and the authors' code: f is a network of one hidden layer with ReLU, c and the
    multiplier of the threshold are learned. The distance is divided by the query's own position, so it stays within 0 …
    1 at any length. The bias of two tokens therefore changes if both move: it is not relative.

    Positions broadcast; distances in steps; the result has no unit. params: "c" and "multiplier" (), "weight_in" and
    "bias_in" (width,), "weight_out" (heads, width), "bias_out" (heads,). Computed in float64 if available.

    Args:
        heads: Heads of the layer.
        width: Channels of the hidden layer.
        threshold: The L of the source: up to here a query's distances are measured against L, in steps; the code of
            DAPE starts from half of it.
        initial_c: Where c starts.
        epsilon: What keeps the quotient finite; 0 in the formula of the paper.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> encoding, one = FIRE(heads=1, width=1, threshold=3.0, epsilon=0.0), np.ones(1)
        >>> params = {"c": np.array(1.0), "multiplier": np.array(1.0), "weight_in": one, "bias_in": 0 * one}
        >>> params |= {"weight_out": one[None], "bias_out": 0 * one}
        >>> encoding.matrix([2, 7], [0, 1], params).round(4).tolist()  # ln 3 / ln 4, ln 2 / ln 4; 1, ln 7 / ln 8
        [[[0.7925, 0.5], [1.0, 0.9358]]]
    """

    width: Annotated[int, Whole(1, 1 << 14)] = 32
    threshold: Annotated[float, Real(0.0, 1e9, above=True)] = 512.0
    initial_c: Annotated[float, Real(0.0, 1e6, above=True)] = 0.1
    epsilon: Annotated[float, Real(0.0, 1.0)] = 1e-6

    claims = frozenset({"streaming", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("width", self.heads * self.width)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        inner = {"c": (), "multiplier": (), "weight_in": (self.width,), "bias_in": (self.width,)}
        return {**inner, "weight_out": (self.heads, self.width), "bias_out": (self.heads,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw each layer within ±1/√(its inputs), as the authors' code does; c is `initial_c`, the multiplier 1."""
        ends = {"weight_in": 1.0, "bias_in": 1.0, "weight_out": self.width**-0.5, "bias_out": self.width**-0.5}
        drawn = {name: rng.uniform(-end, end, self.shapes[name]) for name, end in ends.items()}
        return {"c": np.array(self.initial_c), "multiplier": np.array(1.0), **drawn}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib = query.lib
        # float64: a hidden layer of float32 sums loses bits, and autocast would turn its products into bfloat16.
        learned = {name: lib.widest(value) for name, value in learned.items()}
        share = self._share(query, steps(query, key, lib.real), learned)
        # A matrix: all heads have the hidden layer of a pair in common.
        is_matrix = head.shape[1:] == (1, 1) and share.ndim > 2 and share.shape[-3] == 1 and lib.concrete(share)
        wide = lib.wide_dtype(dtype)
        if is_matrix:
            number = self._of_matrix(share, head[:, 0, 0], learned, lib, wide)
        else:
            number = lib.astype(self._of_pairs(share, head, learned, lib), wide)
        return lib.astype(number, dtype)

    def _of_pairs(self, share: Array, head: Array, learned: Params, lib: Library) -> Array:
        hidden = lib.xp.clip(share[..., None] * learned["weight_in"] + learned["bias_in"], 0.0, None)
        return lib.contracted(hidden, lib.picked(learned["weight_out"], head)) + learned["bias_out"][head]

    def _of_matrix(self, share: Array, heads: Array, learned: Params, lib: Library, dtype: Any) -> Array:
        inner = learned["weight_in"][:, None], learned["bias_in"]
        outer = learned["weight_out"][heads], learned["bias_out"][heads]
        return over_pairs([share], inner, outer, 0.0, lib, dtype)

    def _share(self, query: Positions, distance: Array, learned: Params) -> Array:
        """The distance as a share of the query's position, both on the scale of ψ."""
        xp, c = query.lib.xp, learned["c"]
        reach = xp.maximum(query.lib.widest(query.array), xp.abs(self.threshold * learned["multiplier"]))
        return xp.log1p(xp.abs(c * distance)) / (xp.log1p(xp.abs(c * reach)) + self.epsilon)


ROW = Row(
    FIRE,
    (FIRE(heads=3), FIRE(heads=2, width=5, threshold=4.0, initial_c=0.5, epsilon=0.0)),
    "Li et al. 2023, arXiv:2310.04418",
    ("FIRE",),
    "For decoders that measure distances relative to the length so far, so that longer texts look familiar.",
)
