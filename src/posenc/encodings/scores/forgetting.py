"""The forgetting gate: every token lets a part of what came before it fade."""

from __future__ import annotations

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
from posenc.positions.sums_between import log_sigmoid, sums_upto


@dataclass(frozen=True)
class ForgettingGate(Gathers):
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

    heads: Heads
    model_dim: Width

    claims = frozenset({"relative", "streaming", "unlimited", "learned"})
    reads: ClassVar = "key"

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

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        gates = log_sigmoid(x @ learned["W"].swapaxes(0, 1) + learned["c"]).swapaxes(-1, -2)
        # Sums that nearly cancel, in the widest float.
        return (keys.key.lib.xp.cumsum(keys.key.lib.widest(gates), -1)[..., None],)

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
        far = keys.before_all(query)
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
