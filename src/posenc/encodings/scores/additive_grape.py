"""Additive GRAPE: linear biases whose slopes queries and keys set for themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Heads, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedScore
from posenc.encodings.biases.alibi import slopes_of_heads
from posenc.positions.distance import steps
from posenc.positions.sums_between import log_sigmoid

Gates = Literal["both", "query", "key"]
#: The least length by which a direction is divided, as in the authors' code.
LEAST = 1e-6


@dataclass(frozen=True)
class AdditiveGRAPE(CheckedScore):
    """score(h, m, n) = -max(m - n, 0) · s_h · softplus(ω_h) · (softplus(v_h·q_m / √dim) + softplus(u_h·k_n / √dim)).

    Zhang et al. 2025, arXiv:2512.07805, the gated additive GRAPE, as in the authors' code: s_h are the slopes of ALiBi
    (Press et al. 2022, arXiv:2108.12409), and v_h and u_h count by their direction alone. A key ahead of the query
    scores 0.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m), any, also fractions;
    params "omega" (heads,), "v" and "u" (heads, dim). Result in float32 at least.

    Args:
        dim: Channels of a head.
        heads: Heads of the layer.
        gates: "both" terms, or the "query"'s or the "key"'s alone.
        normalised: Whether v_h and u_h are divided by their lengths (`u_l2_norm`, `v_l2_norm`).

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> encoding = AdditiveGRAPE(dim=1, heads=1, gates="query", normalised=False)
        >>> params = {"omega": np.array([math.log(math.e - 1)]), "v": np.full((1, 1), 2.0)}  # slope 1/256
        >>> q, k = np.full((1, 1, 1, 1), 0.5 * math.log(math.e**256 - 1)), np.zeros((1, 1, 3, 1))  # softplus(2q) = 256
        >>> encoding.score(q, k, [2], [0, 1, 3], params).round(9).tolist()
        [[[[-2.0, -1.0, 0.0]]]]
    """

    dim: Width
    heads: Heads
    gates: Gates = "both"
    normalised: bool = True

    claims = frozenset({"relative", "streaming", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("dim", self.heads * self.dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        directions = {"query": ("v",), "key": ("u",), "both": ("v", "u")}[self.gates]
        return {"omega": (self.heads,)} | dict.fromkeys(directions, (self.heads, self.dim))

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw omega with softplus(omega) = 1, directions from N(0, 1/dim), as in the authors' code."""
        drawn = {name: rng.standard_normal(shape) * self.dim**-0.5 for name, shape in self.shapes.items()}
        return drawn | {"omega": np.full(self.heads, math.log(math.e - 1))}

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        lib = query.lib
        distance = steps(query.part((..., slice(None), None)), key.part((..., None, slice(None))), q.dtype)
        behind = lib.xp.clip(-distance, 0.0, None)[..., None, :, :]
        slopes = lib.constant(slopes_of_heads(self), q.dtype) * _softplus(learned["omega"])
        gates = [self._gate(q, learned["v"], lib)] if "v" in learned else []
        gates += [self._gate(k, learned["u"], lib).swapaxes(-1, -2)] if "u" in learned else []
        # Taken from zero, so that a token's score towards itself is 0.0 and not -0.0.
        return 0.0 - behind * slopes[:, None, None] * sum(gates[1:], gates[0])

    def _gate(self, x: Array, direction: Array, lib: Library) -> Array:
        """softplus(direction·x / √dim) of every head and place, (*batch, heads, places, 1)."""
        if self.normalised:
            square = (direction * direction).sum(-1)[:, None]  # clipped inside the root, which has no slope at 0
            direction = direction / lib.xp.sqrt(lib.xp.clip(square, LEAST**2, None))
        return _softplus(x @ direction[:, :, None] / math.sqrt(self.dim))


def _softplus(x: Array) -> Array:
    return -log_sigmoid(-x)


ROW = Row(
    AdditiveGRAPE,
    (
        AdditiveGRAPE(dim=4, heads=3),
        AdditiveGRAPE(dim=3, heads=2, gates="query", normalised=False),
        AdditiveGRAPE(dim=3, heads=2, gates="key"),
    ),
    "Zhang et al. 2025, arXiv:2512.07805",
    ("QueryKeyGatedAdditiveBias (GRAPE)", "QueryGatedAdditiveBias", "KeyGatedAdditiveBias"),
    "For ALiBi with slopes that depend on the tokens.",
)
