"""Selective RoPE: tokens choose the angles by which queries and keys rotate, and the angles add up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Base, EvenWidth, Heads, Real, Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._layers import uniform_layers
from posenc.encodings.scores._gathers import Gathers, PreparedKeys, rotated_by_angles, score_of_rotation
from posenc.frequencies import Geometric
from posenc.positions.ordered_keys import OrderedKeys
from posenc.positions.sums_between import over_keys, sigmoid, sums_upto


@dataclass(frozen=True)
class SelectiveRoPE(Gathers):
    """score(m, n) = (R(a_m) q_m · R(a_n) k_n - q_m·k_n) / √dim.

    a_p = Σ φ_l·base^(-2i/dim) over the keys l at p or before.

    Movahedi et al. 2025, arXiv:2511.17388, as in the authors' code: φ_l is a filter of `taps` steps over
    w_out·w_in·x̂_l, and x̂ the input of the layer, given as `hidden` with one vector a key, each head's share of it
    divided by its length. R rotates pairs (i, i + dim/2), pair i by the angle of its own. Attention adds q·k itself.
    Keys may stand in any order: give all of the sequence, each position once, and padding behind the tokens, as
    `positions.from_mask` numbers it. documents: of the queries and of the keys, numbers in the shape of their
    positions, where a row holds several.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim), hidden: (*batch, m, model_dim); positions (*batch, n) and
    (*batch, m); params "w_in" (rank, model_dim), "w_out" (heads, dim/2, rank), "filter" (heads, dim/2, taps), with a
    gate "gate_weight" (heads, model_dim) and "gate_bias" (heads,). Result in float32 at least.

    Args:
        dim: Channels of a head.
        heads: Heads of the layer.
        model_dim: Channels of the layer's input, a multiple of heads.
        rank: Width between w_in and w_out.
        taps: How many keys the filter reads, the last of which is its own (`d_conv`).
        base: Base of the factors that angles are multiplied by, which have no unit (`temp_theta`).
        gated: Whether φ is multiplied by a gate σ(gate·x̂ + bias) a head.
        epsilon: Added to the squared length by which x̂ is divided.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> encoding = SelectiveRoPE(dim=2, heads=1, model_dim=1, rank=1, taps=1, epsilon=0.0)
        >>> params = {"w_in": np.ones((1, 1)), "w_out": np.full((1, 1, 1), np.pi / 2), "filter": np.ones((1, 1, 1))}
        >>> q, k, x = np.full((1, 1, 1, 2), 2**0.5), np.array([[[[1.0, 0.0]] * 3]]), np.ones((1, 3, 1))
        >>> encoding.score(q, k, [2], [0, 1, 2], params, hidden=x).round(12).tolist()
        [[[[-2.0, -2.0, 0.0]]]]
    """

    dim: EvenWidth
    heads: Heads
    model_dim: Width
    rank: Width = 16
    taps: Annotated[int, Whole(1, 64)] = 4
    base: Base = 500_000.0
    gated: bool = False
    epsilon: Annotated[float, Real(0.0, 1.0)] = 1e-6

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})
    reads: ClassVar = "key"

    def _check_together(self) -> None:
        if self.model_dim % self.heads:
            raise ValueError(
                f"model_dim must be a multiple of heads={self.heads}; got {self.model_dim}. Widen the layer."
            )
        validation.size("dim", self.heads * self.dim * (self.rank + self.taps))
        validation.size("model_dim", self.model_dim * (self.rank + self.heads))

    @cached_property
    def frequencies(self) -> Geometric:
        """Factor of the angles of each pair."""
        return Geometric(self.dim, self.base)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        pairs = self.dim // 2
        low = {"w_in": (self.rank, self.model_dim), "w_out": (self.heads, pairs, self.rank)}
        gate = {"gate_weight": (self.heads, self.model_dim), "gate_bias": (self.heads,)} if self.gated else {}
        return {**low, "filter": (self.heads, pairs, self.taps), **gate}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw each layer uniformly within ±1/√(its inputs), PyTorch's rule, as the authors' layer alone does.

        Their language models then draw all of them anew, from N(0, 0.02²), with 0 for gate_bias, so that tokens begin
        by rotating next to nothing.
        """
        return uniform_layers(rng, self.shapes, {"w_out": self.rank, "filter": self.taps}, self.model_dim)

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        # Summed in the widest float.
        angles = keys.key.lib.xp.cumsum(keys.key.lib.widest(self._angles(x, keys, learned)), -2)
        return k, rotated_by_angles(k, angles, keys.key.lib), angles

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        lib, (k, rotated_k, angles), keys = query.lib, prepared.arrays, prepared.keys
        there = sums_upto(angles, keys.rank(keys.reached(query), query), lib)
        return score_of_rotation(q, k, rotated_by_angles(q, there, lib), rotated_k)

    def _angles(self, x: Array, keys: OrderedKeys, learned: Params) -> Array:
        """Angles that each key adds to the rotation of itself and all later tokens, (*batch, heads, m, dim/2)."""
        lib, xp = keys.key.lib, keys.key.lib.xp
        parts = x.reshape((*x.shape[:-1], self.heads, self.model_dim // self.heads))
        parts = parts / xp.sqrt((parts * parts).sum(-1)[..., None] + self.epsilon)
        x = parts.reshape(x.shape)
        low = (x @ learned["w_in"].swapaxes(0, 1))[..., None, :, :] @ learned["w_out"].swapaxes(-1, -2)
        angles = over_keys(low, keys, learned["filter"])
        if self.gated:
            gates = x @ learned["gate_weight"].swapaxes(0, 1) + learned["gate_bias"]
            angles = angles * sigmoid(gates.swapaxes(-1, -2))[..., None]
        return angles * lib.constant(_frequencies(self), x.dtype)


@arrays.host
def _frequencies(encoding: SelectiveRoPE) -> np.ndarray:
    return encoding.frequencies.radians()


ROW = Row(
    SelectiveRoPE,
    (
        SelectiveRoPE(dim=4, heads=2, model_dim=12, rank=8),
        SelectiveRoPE(dim=2, heads=3, model_dim=12, rank=2, taps=2, base=100.0, gated=True, epsilon=1e-5),
    ),
    "Movahedi et al. 2025, arXiv:2511.17388",
    ("SelectiveRoPE (selective-rope)",),
    "For decoders whose tokens should decide how far apart they are, as gates do, by angles in place of decay.",
)
