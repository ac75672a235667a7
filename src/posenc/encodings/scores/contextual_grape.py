"""Contextual GRAPE: every token adds to a clock, and queries and keys rotate by its time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Base, EvenWidth, Heads, Real, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.scores._gathers import Gathers, PreparedKeys, rotated_by_angles, score_of_rotation
from posenc.frequencies import Geometric
from posenc.positions.ordered_keys import OrderedKeys
from posenc.positions.sums_between import sigmoid, sums_upto


@dataclass(frozen=True)
class ContextualGRAPE(Gathers):
    """score(m, n) = (R(Φ_m) q_m · R(Φ_n) k_n - q_m·k_n) / √dim.

    Φ_p = Σ gate((W·x_l + c) / gate_scale) over the keys l before p.

    Zhang et al. 2025, arXiv:2512.07805, in the authors' code (the contextual form on the planes of RoPE). The paper and
    the first release (model-architectures/GRAPE, commit 73b2231) have gate="softplus" and gate_scale=1, the defaults;
    since commit 431bad1 of 22 December 2025 the code has gate="sigmoid" and gate_scale=16. R rotates channel i + dim/2
    towards channel i, the other way about than RoPE, by Φ·exp(log_frequencies_i); x is the input of the layer, given as
    `hidden` with one vector a key. Attention adds q·k itself. Keys may stand in any order: give all of the sequence,
    each position once, and padding behind the tokens, as `positions.from_mask` numbers it. documents: of the queries
    and of the keys, numbers in the shape of their positions, where a row holds several.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim), hidden: (*batch, m, model_dim); positions (*batch, n) and
    (*batch, m); params "W" (1 or heads, model_dim), "c" (1 or heads,), "log_frequencies" (1 or heads, dim/2). Result in
    float32 at least.

    Args:
        dim: Channels of a head.
        heads: Heads of the layer.
        model_dim: Channels of the layer's input.
        base: Base of RoPE's frequencies, in radians per step, with which training begins.
        own_clocks: Whether each head has a W and c of its own.
        own_frequencies: Whether it has frequencies of its own.
        initial: softplus(c) at the beginning of training.
        gate: What makes a step of W·x + c, "softplus" or "sigmoid".
        gate_scale: What divides W·x + c (`ctx_omega_scale`).

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding = ContextualGRAPE(dim=2, heads=1, model_dim=1)
        >>> quarter = np.log(np.expm1(np.pi / 2))  # softplus gives a quarter turn a token
        >>> params = {"W": np.zeros((1, 1)), "c": np.array([quarter]), "log_frequencies": np.zeros((1, 1))}
        >>> q, k, x = np.full((1, 1, 1, 2), 2**0.5), np.array([[[[1.0, 0.0]] * 3]]), np.ones((1, 3, 1))
        >>> encoding.score(q, k, [2], [0, 1, 2], params, hidden=x).round(12).tolist()
        [[[[-2.0, 0.0, 0.0]]]]
    """

    dim: EvenWidth
    heads: Heads
    model_dim: Width
    base: Base = 10_000.0
    own_clocks: bool = False
    own_frequencies: bool = False
    initial: Annotated[float, Real(0.0, 1e3, above=True)] = 1e-3
    gate: Literal["softplus", "sigmoid"] = "softplus"
    gate_scale: Annotated[float, Real(1e-3, 1e6)] = 1.0

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})
    reads: ClassVar = "key"

    def _check_together(self) -> None:
        validation.size("dim", self.heads * self.dim)
        validation.size("model_dim", self.heads * self.model_dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        clocks, frequency_rows = (self.heads if separate else 1 for separate in (self.own_clocks, self.own_frequencies))
        return {"W": (clocks, self.model_dim), "c": (clocks,), "log_frequencies": (frequency_rows, self.dim // 2)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw W as each release does; softplus(c) is `initial`, and the frequencies are those of RoPE.

        W is from N(0, 1/(4·model_dim)) for the softplus, zeros for the sigmoid, whose first step is σ(c / gate_scale).
        """
        shapes, log_frequencies = self.shapes, np.log(Geometric(self.dim, self.base).radians())
        spread = 0.5 / math.sqrt(self.model_dim) if self.gate == "softplus" else 0.0
        return {
            "W": spread * rng.standard_normal(shapes["W"]),
            "c": np.full(shapes["c"], self.initial + math.log(-math.expm1(-self.initial))),
            "log_frequencies": np.broadcast_to(log_frequencies, shapes["log_frequencies"]).copy(),
        }

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        lib, xp = keys.key.lib, keys.key.lib.xp
        logits = (x @ learned["W"].swapaxes(0, 1) + learned["c"]) / self.gate_scale
        steps = sigmoid(logits) if self.gate == "sigmoid" else xp.logaddexp(logits, xp.zeros_like(logits))
        # Summed in the widest float.
        time = xp.cumsum(lib.widest(steps), -2).swapaxes(-1, -2)[..., None]
        before = xp.concatenate([xp.zeros_like(time[..., :1, :]), time[..., :-1, :]], -2)
        return k, rotated_by_angles(k, -before * self._frequencies(learned, lib), lib), time

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        lib, (k, rotated_k, time), keys = query.lib, prepared.arrays, prepared.keys
        before = sums_upto(time, keys.rank(keys.before(query), query), lib)
        return score_of_rotation(q, k, rotated_by_angles(q, -before * self._frequencies(learned, lib), lib), rotated_k)

    def _frequencies(self, learned: Params, lib: Library) -> Array:
        return lib.widest(lib.xp.exp(learned["log_frequencies"]))[:, None, :]


ROW = Row(
    ContextualGRAPE,
    (
        ContextualGRAPE(dim=4, heads=2, model_dim=6, initial=1.0),
        ContextualGRAPE(dim=2, heads=3, model_dim=4, base=100.0, own_clocks=True, own_frequencies=True, initial=0.5),
        ContextualGRAPE(dim=4, heads=2, model_dim=6, initial=1.0, gate="sigmoid", gate_scale=16.0),
    ),
    "Zhang et al. 2025, arXiv:2512.07805",
    ("GRAPE-M contextual", "MSGRAPEContextType1 (GRAPE)"),
    "For decoders whose tokens decide how far apart they are, by one clock for all planes.",
)
