"""DAPE, second version: the network over heads also reads the neighbouring keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole, Width
from posenc.core.doors import Claim, Params
from posenc.core.row import Row
from posenc.encodings import _wrapped
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.encodings.scores.dape import LEAK, drawn_network, logits_and_bias, mixed
from posenc.positions.ordered_keys import OrderedKeys


@dataclass(frozen=True)
class DAPEv2(_wrapped.ScoresByBias, Gathers):
    """score(m, n) = B(m, n) + f([A(m, ·), B(m, ·)])(n), with DAPE's f as two convolutions along the keys.

    Zheng et al. 2024, arXiv:2410.04798, as in the authors' code: causal by its definition. A row reads zeros for keys
    ahead of the query and before the first; the hidden layer counts at those ahead, not at those before. A key ahead
    scores 0. Keys may stand in any order: give all of the sequence, each position once, and padding behind the tokens,
    as `positions.from_mask` numbers it. documents: of the queries and of the keys, numbers in the shape of their
    positions, where a row holds several. Where a query is the last of all keys the released code reads no hidden layer
    ahead of it: its result then depends on how many keys are given, and this one's does not.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m), as the bias takes
    them; params "weight_in" (width, 2·heads, kernel), "bias_in" (width,), "weight_out" (heads, width, kernel),
    "bias_out" (heads,), and those of the bias, "inner.name". Result in float32 at least.

    Args:
        encoding: An encoding that biases, with the heads of the layer, as in `DAPE`.
        dim: Channels of a head.
        width: Channels of the hidden layer.
        kernel: How many keys a step of a convolution reads, odd.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> from posenc import ALiBi
        >>> encoding = DAPEv2(ALiBi(heads=1, steepest=1.0), dim=1, width=1)
        >>> params = {"weight_in": np.zeros((1, 2, 3)), "bias_in": np.zeros(1), "weight_out": np.zeros((1, 1, 3))}
        >>> params["weight_in"][0, 0, 0] = params["weight_out"][0, 0, 1] = 1.0  # A of the key before
        >>> q, k = np.ones((1, 1, 1, 1)), np.array([[[[3.0], [5.0], [7.0], [9.0]]]])
        >>> encoding.score(q, k, [2], [0, 1, 2, 3], params | {"bias_out": np.zeros(1)}).tolist()
        [[[[-1.0, 2.5, 5.0, 0.0]]]]
    """

    dim: Width
    width: Annotated[int, Whole(1, 1 << 14)] = 32
    kernel: Annotated[int, Whole(3, 63)] = 3

    def _check_together(self) -> None:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd; got {self.kernel}. Give {self.kernel + 1}, say.")
        validation.size("width", self.kernel * self.width * 2 * self.heads)

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return super().claims - {"symmetric"}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        inner = {"weight_in": (self.width, 2 * self.heads, self.kernel), "bias_in": (self.width,)}
        outer = {"weight_out": (self.heads, self.width, self.kernel), "bias_out": (self.heads,)}
        return {**inner, **outer, **_wrapped.inner_shapes(self.encoding)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw each layer uniformly within ±1/√(its inputs), as the authors' code does; the bias by its `init`."""
        return drawn_network(self, rng, self.kernel)

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        return (k,)

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        lib, xp, (k,), keys = query.lib, query.lib.xp, prepared.arrays, prepared.keys
        logits, bias = logits_and_bias(self, q, k, query, keys.key, learned)
        pairs = xp.concatenate([logits, bias], -3)
        reached = keys.reached(query)
        visible = lib.astype(reached, q.dtype)[..., None, :, :]
        # As many places behind the last key as the second convolution can reach, and none before the first.
        edge = xp.zeros_like(pairs[..., : self.kernel // 2])
        inner = _convolved(xp.concatenate([pairs * visible, edge], -1), learned["weight_in"], learned["bias_in"], lib)
        first = keys.rank(reached & ~reached, query)
        begun = lib.arange(inner.shape[-1]) >= first[..., None]
        inner = lib.rectified(inner, LEAK) * lib.astype(begun, q.dtype)[..., None, :, :]
        correction = _convolved(inner, learned["weight_out"], learned["bias_out"], lib)[..., : k.shape[-2]]
        return (bias + correction) * visible


def _convolved(x: Array, weight: Array, bias: Array, lib: Library) -> Array:
    """Σ over channels c and steps t of weight[o, c, t]·x[c, ·, place + t - kernel // 2] + bias[o], zeros outside."""
    xp, (outputs, channels, kernel), length = lib.xp, weight.shape, x.shape[-1]
    edge = xp.zeros_like(x[..., : kernel // 2])
    x = xp.concatenate([edge, x, edge], -1)
    steps = xp.concatenate([x[..., t : t + length] for t in range(kernel)], -3)
    return mixed(steps, weight.swapaxes(1, 2).reshape((outputs, kernel * channels)), bias)


ROW = Row(
    DAPEv2,
    (
        DAPEv2(ALiBi(heads=3), dim=4, width=5),
        DAPEv2(T5Bias(heads=2, buckets=6, max_distance=9), dim=3, width=3, kernel=5),
    ),
    "Zheng et al. 2024, arXiv:2410.04798",
    ("Alibi_DAPEV2", "Kerple_DAPEV2", "FIRE_DAPEV2"),
    "For DAPE, if patterns of neighbouring keys matter, as in copying.",
)
