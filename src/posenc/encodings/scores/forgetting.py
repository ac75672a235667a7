"""The forgetting gate: each token's gate scales down attention to every key before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Heads, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.scores._gathers import Gathers, PreparedKeys, as_wide
from posenc.positions.ordered_keys import OrderedKeys
from posenc.positions.sums_between import log_sigmoid, sums_upto


@dataclass(frozen=True)
class _SumsOfGates(Gathers):
    """Base of scores that sum log gates, (*batch, m, heads), over the keys after a key and up to the query."""

    heads: Heads

    claims = frozenset({"relative", "streaming", "unlimited", "learned"})
    reads: ClassVar = "key"

    def _sums(self, gates: Array, keys: OrderedKeys) -> tuple[Array, ...]:
        # Sums that nearly cancel, in the widest float.
        return (keys.key.lib.xp.cumsum(keys.key.lib.widest(gates.swapaxes(-1, -2)), -1)[..., None],)

    def faded(self, query: Positions, prepared: PreparedKeys, below: float) -> int:
        (sums,), far = prepared.arrays, prepared.keys.before_all(query)
        if not far:
            return 0
        # Gates only close: each further key in between takes more away.
        between = sums[..., far - 1 : far, :] - sums[..., :far, :]
        open_to = (between[..., 0] >= -below).reshape((-1, far)).any(0)
        return far - int(open_to.sum())

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        lib, (sums,), keys = query.lib, prepared.arrays, prepared.keys
        # Of several queries, the keys that all of them reach take a matrix of float64 less.
        far = 0 if validation.equals_one_of(q.shape[-2], 1) else keys.before_all(query)
        near = slice(far, None)
        reached = keys.part(near).reached(query)
        upto = sums_upto(sums, far + keys.part(near).rank(reached, query), lib)
        between = lib.astype(upto - sums.swapaxes(-1, -2)[..., near], q.dtype)
        between = lib.xp.where(reached[..., None, :, :], between, lib.xp.zeros_like(between[..., :1]))
        if not far:
            return between
        # Both parts are of one sign, so that float32 holds their sum as exactly as the rounded sum of float64.
        middle = sums[..., far - 1 : far, :]
        after, before = lib.astype(upto - middle, q.dtype), lib.astype(middle - sums[..., :far, :], q.dtype)
        return lib.xp.concatenate([after + before.swapaxes(-1, -2), between], -1)


@dataclass(frozen=True)
class ForgettingGate(_SumsOfGates):
    """score(h, m, n) = Σ ln σ(W_h · x_l + c_h) over the keys l with n < l ≤ m; 0 where n is not before m.

    Lin et al. 2025, arXiv:2503.02130: the logarithm of the product of forget gates. CABLE (Veisi et al. 2025,
    arXiv:2503.08067) is the same with the other signs of W and c: ln σ(x) = -softplus(-x). It reads neither queries nor
    keys but x, the input of the layer, given as `hidden` with one vector a key. Keys may stand in any order: give all
    of the sequence, each position once, and padding behind the tokens, as `positions.from_mask` numbers it. documents:
    of the queries and of the keys, numbers in the shape of their positions, where a row holds several.

    q: (*batch, heads, n, d), k: (*batch, heads, m, d), hidden: (*batch, m, model_dim); positions (*batch, n) and
    (*batch, m); params["W"] (heads, model_dim) and params["c"] (heads,). Result in float32 at least, no unit.

    Args:
        heads: Heads of the layer.
        model_dim: Channels of the layer's input.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> q, hidden = np.zeros((1, 1, 3, 2)), np.array([[[0.0], [1.0], [-1.0]]])
        >>> params = {"W": np.ones((1, 1)), "c": np.zeros(1)}
        >>> encoding = ForgettingGate(heads=1, model_dim=1)
        >>> encoding.score(q, q, range(3), range(3), params, hidden=hidden).round(4).tolist()
        [[[[0.0, 0.0, 0.0], [-0.3133, 0.0, 0.0], [-1.6265, -1.3133, 0.0]]]]
    """

    model_dim: Width

    def _check_together(self) -> None:
        validation.size("model_dim", self.heads * self.model_dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.heads, self.model_dim), "c": (self.heads,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """W from N(0, 0.02²) and c = 0, as the authors' models draw them, so that every gate is about 1/2 at first.

        x-transformers begins with c = 5 instead, gates that are almost open.
        """
        return {"W": rng.standard_normal((self.heads, self.model_dim)) * 0.02, "c": np.zeros(self.heads)}

    def log_gates(self, hidden: Array, params: Params | None = None) -> Array:
        """Compute ln of each token's gates, all that the score reads of it.

        Args:
            hidden: Inputs of the layer, (*batch, m, model_dim).
            params: Parameters by name, as `init` returns them.

        Returns:
            ln σ(W_h · x + c_h), (*batch, m, heads), in float32 at least.

        Raises:
            ValueError: `hidden` has another shape, or `params` other names or shapes.

        Example:
            >>> params = {"W": np.ones((1, 1)), "c": np.zeros(1)}
            >>> ForgettingGate(heads=1, model_dim=1).log_gates(np.array([[0.0], [1.0]]), params).round(4).tolist()
            [[-0.6931], [-0.3133]]
        """
        learned = self.checked(params)
        lib = arrays.library(arrays.floats("hidden", hidden), *learned.values())
        if hidden.ndim < 2 or hidden.shape[-1] != self.model_dim:
            raise ValueError(
                f"hidden must have shape (*batch, m, {self.model_dim}); got {tuple(hidden.shape)}. Give the inputs of "
                "the layer."
            )
        x = lib.wide(hidden)
        return self._gates(x, as_wide(learned, x))

    def _gates(self, x: Array, learned: Params) -> Array:
        return log_sigmoid(x @ learned["W"].swapaxes(0, 1) + learned["c"])

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        return self._sums(self._gates(x, learned), keys)


@dataclass(frozen=True)
class GivenGates(_SumsOfGates):
    """`ForgettingGate` from its precomputed `log_gates`, given as `hidden` (*batch, m, heads), as a cache holds them.

    Args:
        heads: Heads of the layer.

    Raises:
        ValueError: `heads` breaks its rule.
    """

    claims = _SumsOfGates.claims - {"learned"}

    @property
    def model_dim(self) -> int:
        """Width of `hidden`: one log gate a head."""
        return self.heads

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        return self._sums(x, keys)


ROW = Row(
    ForgettingGate,
    (ForgettingGate(heads=3, model_dim=6), ForgettingGate(heads=2, model_dim=1)),
    "Lin et al. 2025, arXiv:2503.02130",
    (
        "FoX",
        "forgetting_attn (flash-linear-attention)",
        "DataDependentAlibi (x-transformers)",
        "CABLE, arXiv:2503.08067 (W and c with the other sign)",
    ),
    "For decoders in which the text itself should say what may be forgotten.",
)
