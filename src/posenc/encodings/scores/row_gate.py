"""A forgetting gate of its own for every query: each row says what it forgets of each token before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Heads, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.positions.ordered_keys import OrderedKeys
from posenc.positions.sums_between import log_sigmoid


@dataclass(frozen=True)
class RowGate(Gathers):
    """score(h, m, n) = Σ ln σ(W_h x_m · U_h x_l / √width) over the keys l from n up to, but not at, m: n ≤ l < m.

    `PerRowDataDependentAlibi` of x-transformers, after the forgetting gate of Lin et al. 2025, arXiv:2503.02130; no
    paper has it. x is the input of the layer, given as `hidden`: a vector a query, and behind these a vector a key.
    Keys may stand in any order: give all of the sequence, each position once, and padding behind the tokens, as
    `positions.from_mask` numbers it. documents: of the queries and of the keys, numbers in the shape of their
    positions, where a row holds several.

    q: (*batch, heads, n, d), k: (*batch, heads, m, d), hidden: (*batch, n + m, model_dim); positions (*batch, n) and
    (*batch, m); params["W"] and params["U"] (heads, width, model_dim). Result in float32 at least.

    Args:
        heads: Heads of the layer.
        model_dim: Channels of the layer's input.
        width: Channels of what a gate compares (`dim_head`).

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> q, k = np.zeros((1, 1, 1, 2)), np.zeros((1, 1, 4, 2))
        >>> hidden = np.array([[[1.0], [0.0], [1.0], [5.0], [5.0]]])
        >>> params = {"W": np.ones((1, 1, 1)), "U": np.ones((1, 1, 1))}
        >>> RowGate(heads=1, model_dim=1, width=1).score(q, k, [2], range(4), params, hidden=hidden).round(4).tolist()
        [[[[-1.0064, -0.3133, 0.0, 0.0]]]]
    """

    heads: Heads
    model_dim: Width
    width: Width = 8

    claims = frozenset({"relative", "streaming", "unlimited", "learned"})
    reads: ClassVar = "both"

    def _check_together(self) -> None:
        validation.size("model_dim", self.heads * self.width * self.model_dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.heads, self.width, self.model_dim), "U": (self.heads, self.width, self.model_dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Uniform within ±1/√model_dim, PyTorch's rule, as the layer of x-transformers starts."""
        end = self.model_dim**-0.5
        return {name: rng.uniform(-end, end, shape) for name, shape in self.shapes.items()}

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        return (x[..., None, :, :] @ learned["U"].swapaxes(-1, -2),)

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        xp, (of_keys,) = query.lib.xp, prepared.arrays
        of_queries = x[..., None, :, :] @ learned["W"].swapaxes(-1, -2)
        gates = log_sigmoid(of_queries @ of_keys.swapaxes(-1, -2) / math.sqrt(self.width))
        before = prepared.keys.before(query)[..., None, :, :]
        gates = xp.where(before, gates, xp.zeros_like(gates[..., :1]))
        return xp.flip(xp.cumsum(xp.flip(gates, (-1,)), -1), (-1,))


ROW = Row(
    RowGate,
    (RowGate(heads=3, model_dim=6, width=2), RowGate(heads=2, model_dim=3, width=4)),
    "no paper: x-transformers, after Lin et al. 2025, arXiv:2503.02130",
    ("PerRowDataDependentAlibi (x-transformers)",),
    "For a forgetting gate with which each query decides what it forgets.",
)
