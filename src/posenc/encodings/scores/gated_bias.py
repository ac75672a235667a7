"""A relative bias that each query token scales by gates from its own input (WavLM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posenc.core.arrays import Array
from posenc.core.checked_content import inputs
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _wrapped
from posenc.encodings._checked import CheckedScore
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.positions.sums_between import sigmoid

#: The projection has four channels for each of the two gates, which are added.
CHANNELS = 4


@dataclass(frozen=True)
class GatedBias(_wrapped.ScoresByBias, CheckedScore):
    """score(h, m, n) = (σ(a)·(σ(b)·constant_h - 1) + 2) · B(h, m, n).

    a and b are sums of four channels each of weight·x_{m,h} + bias.

    The gated relative position bias of WavLM (Chen et al. 2021, arXiv:2110.13900), as in its released code: x_{m,h} is
    the share of head h of x, the input of the layer, given as `hidden` with one vector a query; B is the bias of
    another encoding, in WavLM T5's with 320 buckets up to 800 steps.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim), hidden: (*batch, n, heads·dim); positions (*batch, n) and
    (*batch, m), as the bias takes them; params "weight" (8, dim), "bias" (8,), "constant" (heads,), and those of the
    bias, "inner.name". Result in float32 at least.

    Args:
        encoding: An encoding that biases, with the heads of the layer.
        dim: Channels of a head, of its share of x too.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> from posenc import ALiBi
        >>> encoding = GatedBias(ALiBi(heads=1, steepest=1.0), dim=1)
        >>> params = {"weight": np.zeros((8, 1)), "bias": np.zeros(8), "constant": np.full(1, 4.0)}
        >>> q, k, x = np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 3, 1)), np.zeros((1, 1, 1))
        >>> encoding.score(q, k, [2], [0, 1, 2], params, hidden=x).tolist()  # (1/2·(1/2·4 - 1) + 2) · -1, -1/2, 0
        [[[[-2.5, -1.25, 0.0]]]]
    """

    dim: Width

    reads: ClassVar = "query"

    @property
    def model_dim(self) -> int:
        """Channels of the layer's input."""
        return self.heads * self.dim

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        linear = {"weight": (2 * CHANNELS, self.dim), "bias": (2 * CHANNELS,)}
        return {**linear, "constant": (self.heads,), **_wrapped.inner_shapes(self.encoding)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw weight and bias uniformly within ±1/√(channels of a head), PyTorch's rule, and constants of one."""
        end = self.dim**-0.5
        linear = {name: rng.uniform(-end, end, self.shapes[name]) for name in ("weight", "bias")}
        return {**linear, "constant": np.ones(self.heads), **_wrapped.inner_init(self.encoding, rng)}

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        x = inputs(hidden, q, self.model_dim)
        x = x.reshape((*x.shape[:-1], self.heads, self.dim)).swapaxes(-2, -3)
        channels = x @ learned["weight"].swapaxes(0, 1) + learned["bias"]
        a, b = (sigmoid(part.sum(-1)) for part in (channels[..., :CHANNELS], channels[..., CHANNELS:]))
        gate = a * (b * learned["constant"][:, None] - 1) + 2
        return gate[..., None] * _wrapped.bias_matrix(self.encoding, query, key, learned, q.dtype)


ROW = Row(
    GatedBias,
    (
        GatedBias(T5Bias(heads=3, buckets=8, max_distance=20), dim=2),
        GatedBias(ALiBi(heads=2), dim=1),
    ),
    "Chen et al. 2021, arXiv:2110.13900",
    ("gru_rel_pos_linear (WavLM)", "gru_rel_pos_const (WavLM)", "grep_linear (unilm)"),
    "For speech encoders in which each frame scales its own position bias.",
)
