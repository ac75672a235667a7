"""Log-spaced continuous position bias (Swin v2): a network of log-scaled distances, for windows of any size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _window
from posenc.encodings._checked import CheckedBias
from posenc.encodings._layers import uniform_layers
from posenc.positions.distance import steps
from posenc.positions.sums_between import sigmoid

#: How far out a distance counts eight, and the most that a bias can be; both of the authors' code.
FURTHEST, LARGEST = 8.0, 16.0


@dataclass(frozen=True)
class LogCPB(CheckedBias):
    """bias(h, m, n) = 16·σ(MLP(x)_h), x_a = sgn(Δ_a)·log₂(1 + |8Δ_a / (M_a - 1)|) / log₂ 8, Δ = m - n along each axis.

    Liu et al. 2022, arXiv:2111.09883 (Swin v2), with the factors of the authors' code: one hidden layer with ReLU, no
    bias on its output. The window M is that of training; a larger one at inference evaluates the same network at larger
    distances.

    Positions (*batch, n, axes), also fractions, broadcast; the result has no unit. params: "weight_in" (width, axes),
    "bias_in" (width,), "weight_out" (heads, width). Computed in float64 if available.

    Args:
        heads: Heads of the layer.
        window: Places along each axis in training (`pretrained_window_size`; where that is 0, `window_size`).
        width: Channels of the hidden layer; 512 in the authors' code and transformers, 128 in timm.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> encoding = LogCPB(heads=1, window=(9, 9), width=2)
        >>> params = {"weight_in": np.eye(2), "bias_in": np.zeros(2), "weight_out": np.array([[3.0, 0.0]])}
        >>> encoding.matrix([[7, 0]], [[0, 5], [7, 5], [8, 5]], params).round(4).tolist()  # x_0 = 1, 0, below 0
        [[[15.2412, 8.0, 8.0]]]
    """

    window: Annotated[tuple[int, ...], _window.sizes_of_window(2)] = (8, 8)
    width: Annotated[int, Whole(1, 1 << 14)] = 512

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("width", self.width * (self.heads + self.axes))

    @property
    def axes(self) -> int:
        return len(self.window)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        inner = {"weight_in": (self.width, self.axes), "bias_in": (self.width,)}
        return {**inner, "weight_out": (self.heads, self.width)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Each layer uniform within ±1/√(its inputs), PyTorch's rule."""
        return uniform_layers(rng, self.shapes, {"weight_out": self.width}, self.axes)

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib = query.lib
        # float64: a hidden layer of float32 sums loses bits, and autocast would turn its products into bfloat16.
        learned = {name: lib.widest(value) for name, value in learned.items()}
        pairs = _window.coordinate_pairs(query, key, self.axes)
        hidden = learned["bias_in"]
        for axis, (m, n) in enumerate(pairs):
            x = self._read(-steps(m, n, lib.real), self.window[axis], lib)
            hidden = hidden + x[..., None] * learned["weight_in"][:, axis]
        row = lib.picked(learned["weight_out"], head)
        number = LARGEST * sigmoid(lib.contracted(lib.xp.clip(hidden, 0.0, None), row))
        return lib.astype(lib.astype(number, lib.wide_dtype(dtype)), dtype)

    def _read(self, distance: Array, size: int, lib: Library) -> Array:
        xp = lib.xp
        far = xp.log1p(xp.abs(distance) * (FURTHEST / (size - 1))) / math.log(FURTHEST)
        return xp.sign(distance) * far


ROW = Row(
    LogCPB,
    (LogCPB(heads=3, window=(4, 5), width=8), LogCPB(heads=2, window=(2, 7, 3), width=5)),
    "Liu et al. 2022, arXiv:2111.09883",
    ("continuous_position_bias_mlp (Swin v2)", "RelPosMlp (timm)"),
    "For windows of an image that grow after training.",
)
