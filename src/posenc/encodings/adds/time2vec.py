"""Time2Vec: one linear channel and learned sines of the position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.declared_fields import Spread, Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row


@dataclass(frozen=True)
class Time2Vec(AdditiveEncoding):
    """PE(p, 0) = ω_0·p + φ_0 and PE(p, c) = sin(ω_c·p + φ_c) for c = 1 … dim-1, ω and φ learned.

    Kazemi et al. 2019, arXiv:1907.05321, eq. 1, with the sine as its periodic function. The paper gives no first
    values: here both are drawn from N(0, std²).

    Positions (*batch, n), integers or float32/float64; params["omega"] (dim,) in radians a step and params["phi"]
    (dim,) in radians; result (*batch, n, dim). A learned frequency is a float, so the angle is computed in floating
    point, in float64 if available, with a relative error of 2^-52.

    Args:
        dim: Channels, the line and the sines.
        std: Standard deviation of the fresh frequencies and phases.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> params = {"omega": np.array([0.5, 1.0, 2.0]), "phi": np.array([3.0, 0.0, 1.0])}
        >>> Time2Vec(dim=3).embed([0, 2], params).round(4)
        array([[ 3.    ,  0.    ,  0.8415],
               [ 4.    ,  0.9093, -0.9589]])
    """

    dim: Annotated[int, Whole(2)]
    std: Spread = 1.0

    claims = frozenset({"streaming", "unlimited", "fractional", "learned"})

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"omega": (self.dim,), "phi": (self.dim,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {name: rng.standard_normal(shape) * self.std for name, shape in self.shapes.items()}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, learned, dtype = self.checked_call(positions, params, dtype)
        lib, xp = positions.lib, positions.lib.xp
        omega, phi = lib.widest(learned["omega"]), lib.widest(learned["phi"])
        angle = (lib.widest(positions.array) + positions.guard())[..., None] * omega + phi
        return lib.astype(xp.concatenate([angle[..., :1], xp.sin(angle[..., 1:])], -1), dtype)


ROW = Row(
    Time2Vec,
    (Time2Vec(dim=4), Time2Vec(dim=2, std=0.1)),
    "Kazemi et al. 2019, arXiv:1907.05321",
    ("T2V", "SineActivation"),
    "For events at real-valued times, with learned periods.",
)
