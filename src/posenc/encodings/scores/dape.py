"""DAPE: a small network over all heads corrects a bias, reading the bias and the logits q·k."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _layers, _wrapped
from posenc.encodings._checked import CheckedScore
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.kerple import KerpleLog

#: How steep LeakyReLU is below zero.
LEAK = 0.01


@dataclass(frozen=True)
class DAPE(_wrapped.ScoresByBias, CheckedScore):
    """score(m, n) = B(m, n) + f([A(m, n), B(m, n)]), with A = q_m·k_n / √dim of all heads and B a bias of all heads.

    Zheng et al. 2024, arXiv:2405.14722: f is a network of one hidden layer with LeakyReLU over the 2·heads numbers of a
    pair of places. Attention adds A itself, with its own scale of 1/√dim. (The FIRE inside the authors' `FIRE_DAPE` has
    LeakyReLU where FIRE itself has ReLU; here it is FIRE itself.)

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m), as the bias takes
    them; params "weight_in" (width, 2·heads), "bias_in" (width,), "weight_out" (heads, width), "bias_out" (heads,), and
    those of the bias, "inner.name". Result in float32 at least.

    Args:
        encoding: An encoding that biases, such as ALiBi, KerpleLog or FIRE: B, with the heads of the layer.
        dim: Channels of a head.
        width: Channels of the hidden layer.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> from posenc import ALiBi
        >>> encoding = DAPE(ALiBi(heads=1, steepest=1.0), dim=1, width=1)
        >>> params = {"weight_in": np.array([[3.0, 1.0]]), "bias_in": np.zeros(1), "weight_out": np.ones((1, 1))}
        >>> q, k = np.ones((1, 1, 1, 1)), np.ones((1, 1, 3, 1))  # slope 1/2; A = 1, B = -1, -1/2, 0
        >>> encoding.score(q, k, [2], [0, 1, 2], params | {"bias_out": np.zeros(1)}).tolist()
        [[[[1.0, 2.0, 3.0]]]]
    """

    dim: Width
    width: Annotated[int, Whole(1, 1 << 14)] = 32

    def _check_together(self) -> None:
        validation.size("width", self.width * 3 * self.heads)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        inner = {"weight_in": (self.width, 2 * self.heads), "bias_in": (self.width,)}
        outer = {"weight_out": (self.heads, self.width), "bias_out": (self.heads,)}
        return {**inner, **outer, **_wrapped.inner_shapes(self.encoding)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw each layer uniformly within ±1/√(its inputs), as the authors' code does; the bias by its `init`."""
        return drawn_network(self, rng, 1)

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        logits, bias = logits_and_bias(self, q, k, query, key, learned)
        inner, outer = ((learned[f"weight_{end}"], learned[f"bias_{end}"]) for end in ("in", "out"))
        return bias + _layers.over_pairs((logits, bias), inner, outer, LEAK, query.lib, logits.dtype)


def drawn_network(encoding: Any, rng: np.random.Generator, kernel: int) -> dict[str, np.ndarray]:
    """First parameters, each layer uniform within ±1/√(its inputs)."""
    own_shapes = {name: shape for name, shape in encoding.shapes.items() if not name.startswith("inner.")}
    inputs = {"in": 2 * encoding.heads * kernel, "out": encoding.width * kernel}
    network = _layers.uniform_layers(rng, own_shapes, {name: inputs[name.split("_")[1]] for name in own_shapes})
    return network | _wrapped.inner_init(encoding.encoding, rng)


def logits_and_bias(
    encoding: Any, q: Array, k: Array, query_positions: Positions, key_positions: Positions, learned: Params
) -> tuple[Array, Array]:
    """Compute A = q·k / √dim and B, the wrapped bias; both (*batch, heads, n, m)."""
    xp, logits = query_positions.lib.xp, (q @ k.swapaxes(-1, -2)) / math.sqrt(encoding.dim)
    bias = xp.broadcast_to(
        _wrapped.bias_matrix(encoding.encoding, query_positions, key_positions, learned, logits.dtype), logits.shape
    )
    return logits, bias


def mixed(x: Array, weight: Array, bias: Array) -> Array:
    """Σ over channels c of weight[o, c]·x[c, ·, ·] + bias[o]."""
    flat = weight @ x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1])) + bias[:, None]
    return flat.reshape((*x.shape[:-3], weight.shape[0], *x.shape[-2:]))


ROW = Row(
    DAPE,
    (
        DAPE(ALiBi(heads=3), dim=4, width=5),
        DAPE(KerpleLog(heads=2), dim=3),
    ),
    "Zheng et al. 2024, arXiv:2405.14722",
    ("AliBi_DAPE", "ParallelKerpleLog_DAPE", "FIRE_DAPE (whose FIRE leaks)"),
    "For decoders that must run longer than they were trained and should correct a fixed bias by content.",
)
