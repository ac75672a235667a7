"""A bias that a small network computes from the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.positions.distance import steps


@dataclass(frozen=True)
class DynamicPositionBias(CheckedBias):
    """bias(h, m, n) = MLP(x)_h, x = m - n, or sgn(m - n)·ln(|m - n| + 1) with log_distance.

    Wang et al. 2021, arXiv:2108.00154 (the dynamic position bias of CrossFormer), along one axis and with the layers of
    x-transformers' `DynamicPositionBias`: `depth` hidden layers of `dim` channels with SiLU, then one number a head.
    CrossFormer itself has two axes, normalises its layers and takes ReLU.

    Positions broadcast; distances in steps; the result has no unit. params: "weight_in" and "bias_in" (dim,); for depth
    > 1 "weight_hidden" (depth-1, dim, dim), rows the outputs, and "bias_hidden" (depth-1, dim); "weight_out" (heads,
    dim), "bias_out" (heads,). Computed in float64 if available.

    Args:
        heads: Heads of the layer.
        dim: Channels of each hidden layer.
        depth: How many of them.
        log_distance: Whether the network reads the logarithm of the distance, with which it extrapolates better.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> params = {"weight_in": np.ones(1), "bias_in": np.zeros(1)}
        >>> params |= {"weight_out": np.ones((1, 1)), "bias_out": np.zeros(1)}
        >>> encoding = DynamicPositionBias(heads=1, dim=1, depth=1)
        >>> encoding.matrix([3], [2, 3, 4], params).round(4).tolist()  # x / (1 + e^-x)
        [[[0.7311, 0.0, -0.2689]]]
    """

    dim: Annotated[int, Whole(1, 1 << 14)] = 128
    depth: Annotated[int, Whole(1, 64)] = 2
    log_distance: bool = False

    claims = frozenset({"relative", "streaming", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("dim", self.dim * (self.heads + self.depth * self.dim))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        inner, deep = {"weight_in": (self.dim,), "bias_in": (self.dim,)}, self.depth - 1
        hidden = {"weight_hidden": (deep, self.dim, self.dim), "bias_hidden": (deep, self.dim)} if deep else {}
        return {**inner, **hidden, "weight_out": (self.heads, self.dim), "bias_out": (self.heads,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Each layer uniform within ±1/√(its inputs), as x-transformers draws it."""
        ends = {name: 1.0 if name.endswith("_in") else self.dim**-0.5 for name in self.shapes}
        return {name: rng.uniform(-ends[name], ends[name], shape) for name, shape in self.shapes.items()}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, xp = query.lib, query.lib.xp
        # float64: a network of float32 sums loses bits, and autocast would turn its products into bfloat16.
        learned = {name: lib.widest(value) for name, value in learned.items()}
        x = -steps(query, key, lib.real)
        if self.log_distance:
            x = xp.sign(x) * xp.log1p(xp.abs(x))
        hidden = self._hidden(x, learned, lib)
        number = lib.contracted(hidden, lib.picked(learned["weight_out"], head)) + learned["bias_out"][head]
        return lib.astype(lib.astype(number, lib.wide_dtype(dtype)), dtype)

    def _hidden(self, x: Array, learned: Params, lib: Library) -> Array:
        x = _silu(x[..., None] * learned["weight_in"] + learned["bias_in"], lib)
        for layer in range(self.depth - 1):
            weight, bias = learned["weight_hidden"][layer], learned["bias_hidden"][layer]
            x = _silu(x @ weight.swapaxes(0, 1) + bias, lib)
        return x


def _silu(x: Array, lib: Library) -> Array:
    """SiLU, x / (1 + e^-x), without a power that overflows."""
    xp = lib.xp
    small = xp.exp(-xp.abs(x))
    return x * xp.where(x >= 0, xp.ones_like(x), small) / (1.0 + small)


ROW = Row(
    DynamicPositionBias,
    (
        DynamicPositionBias(heads=3, dim=8),
        DynamicPositionBias(heads=2, dim=4, depth=1, log_distance=True),
        DynamicPositionBias(heads=2, dim=5, depth=3, log_distance=True),
    ),
    "Wang et al. 2021, arXiv:2108.00154",
    ("DynamicPositionBias (x-transformers)", "DynamicPosBias (CrossFormer)"),
    "For encoders that should learn any smooth function of the distance.",
)
