"""Path-integral GRAPE: a sum of log gates between the query and the position-rotated keys after a key."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import EvenWidth, Heads, Real, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.biases.alibi import slopes_of_heads
from posenc.encodings.scores._gathers import Gathers, PreparedKeys, rotated_halves
from posenc.frequencies import Geometric
from posenc.phase import cos_sin
from posenc.positions.ordered_keys import OrderedKeys
from posenc.positions.sums_between import log_sigmoid


@dataclass(frozen=True)
class PathGRAPE(Gathers):
    """score(h, m, n) = slope_h · Σ ln σ(W_h x_m · R(l) p̂_l / width) over the keys l after n and up to m.

    p̂ = W_h x_l / rms.

    GRAPE-AP of Zhang et al. 2025, arXiv:2512.07805, in the authors' code with a projection of its own. R(l) rotates
    channel i + width/2 towards channel i by l radians, every pair alike; the query is not rotated, so that places count
    and not differences alone. Slopes are those of `ALiBi`. x is the input of the layer, given as `hidden`: a vector a
    query, and behind these a vector a key. Keys may stand in any order: give all of the sequence, each position once,
    and padding behind the tokens, as `positions.from_mask` numbers it. documents: of the queries and of the keys,
    numbers in the shape of their positions, where a row holds several.

    q: (*batch, heads, n, d), k: (*batch, heads, m, d), hidden: (*batch, n + m, model_dim); positions (*batch, n) and
    (*batch, m); params["W"] (heads, width, model_dim). Result in float32 at least.

    Args:
        heads: Heads of the layer.
        model_dim: Channels of the layer's input.
        width: Channels of a head's p (`p_head_dim`), even.
        epsilon: Added to the mean square that p̂ is divided by.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> encoding = PathGRAPE(heads=1, model_dim=2, width=2, epsilon=0.0)
        >>> q, k, x = np.zeros((1, 1, 1, 2)), np.zeros((1, 1, 3, 2)), np.array([[[0.0, 0.0]] + [[1.0, 0.0]] * 3])
        >>> encoding.score(q, k, [2], range(3), {"W": np.eye(2)[None]}, hidden=x).round(6).tolist()  # gates of 1/2
        [[[[-0.005415, -0.002708, 0.0]]]]
    """

    heads: Heads
    model_dim: Width
    width: EvenWidth = 8
    epsilon: Annotated[float, Real(0.0, 1.0)] = 2.0**-23

    claims = frozenset({"streaming", "unlimited", "learned"})
    reads: ClassVar = "both"

    def _check_together(self) -> None:
        validation.size("model_dim", self.heads * self.width * self.model_dim)

    @cached_property
    def frequencies(self) -> Geometric:
        """A radian a place for every pair."""
        return Geometric(self.width, 1.0)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.heads, self.width, self.model_dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """N(0, 1/(4·model_dim)), as the authors' model draws its projections."""
        return {"W": 0.5 / math.sqrt(self.model_dim) * rng.standard_normal(self.shapes["W"])}

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        of_keys = x[..., None, :, :] @ learned["W"].swapaxes(-1, -2)
        of_keys = of_keys / keys.key.lib.xp.sqrt((of_keys * of_keys).sum(-1)[..., None] / self.width + self.epsilon)
        return (self._rotated(of_keys, keys.key),)

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        lib, xp, (of_keys,) = query.lib, query.lib.xp, prepared.arrays
        of_queries = x[..., None, :, :] @ learned["W"].swapaxes(-1, -2)
        gates = log_sigmoid(of_queries @ of_keys.swapaxes(-1, -2) / self.width)
        gates = gates * lib.constant(slopes_of_heads(self), q.dtype)[:, None, None]
        reached = prepared.keys.reached(query)[..., None, :, :]
        passed = xp.where(reached, gates, xp.zeros_like(gates[..., :1]))
        after = xp.concatenate([passed[..., 1:], xp.zeros_like(passed[..., :1])], -1)  # a key's own gate does not count
        return xp.flip(xp.cumsum(xp.flip(after, (-1,)), -1), (-1,))

    def _rotated(self, x: Array, key: Positions) -> Array:
        """Rotate x, (*batch, heads, m, width), each key by its position in radians, backwards."""
        cos, sin = (table[..., None, :, :] for table in cos_sin(key, self.frequencies, x.dtype))
        return rotated_halves(x, cos, -sin, key.lib)


ROW = Row(
    PathGRAPE,
    (
        PathGRAPE(heads=3, model_dim=6, width=4),
        PathGRAPE(heads=2, model_dim=4, width=2, epsilon=0.01),
    ),
    "Zhang et al. 2025, arXiv:2512.07805",
    ("GRAPE-AP", "GRAPE additive, path integral"),
    "For decoders in which each query decides which of the tokens up to a key count as distance.",
)
