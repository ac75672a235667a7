"""Multiplicative GRAPE: a rotation in one learned plane of the head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.declared_fields import Real, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.operators import Rebased
from posenc.core.rotation import Pairing, Rotation
from posenc.core.row import Row
from posenc.phase import cos_sin_of_learned


@dataclass(frozen=True)
class MultiplicativeGRAPE(RotaryEncoding):
    """x → exp(p·rate·L)·x with L = a·bᵀ - b·aᵀ: a rotation in the plane of a and b.

    Its angle is p·rate·s with s = √(|a|²|b|² - (a·b)²).

    Zhang et al. 2025, arXiv:2512.07805 (multiplicative GRAPE, a generator of rank 2, exponentiated in closed form by
    Rodrigues' formula). Vectors orthogonal to the plane do not change. For several commuting planes use `CayleySTRING`;
    for planes along the channels, as in the released code, `LearnedRoPE`.

    Positions (*batch, n), integers or float32/float64; params["a"] and params["b"] (dim,), not parallel, since that is
    no plane (NaN). s is computed in the widest float, so the error of an angle is at most p·rate·s·2^-50. Gives a
    `Rebased` rotation.

    Args:
        dim: Channels of a head.
        rate: ω, radians a step where the parallelogram of a and b has the area 1.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding = MultiplicativeGRAPE(dim=3, rate=np.pi / 2)
        >>> params = {"a": np.array([1.0, 0, 0]), "b": np.array([5.0, 1, 0])}
        >>> encoding.rotation([1], params)(np.array([[1.0, 0.0, 7.0]])).round(4).tolist()
        [[0.0, -1.0, 7.0]]
    """

    dim: Annotated[int, Whole(2)]
    rate: Annotated[float, Real(0.0, 1e3, above=True)] = 1.0

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional", "learned"})

    @property
    def fastest(self) -> float:
        """Approximate largest radians a step with fresh parameters; rounding errors of angles scale with it."""
        return 4.0 * self.rate

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"a": (self.dim,), "b": (self.dim,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw a and b from N(0, 1/dim), so that the area s of their parallelogram is about 1."""
        return {name: rng.standard_normal(self.dim) / np.sqrt(self.dim) for name in ("a", "b")}

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rebased:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        a, b = lib.widest(learned["a"]), lib.widest(learned["b"])
        along = a / _length(a)
        across = b - along * (along * b).sum(-1)
        height = _length(across)
        cos_sin = cos_sin_of_learned((positions,), ((_length(a) * height * self.rate)[None],), wide)
        # L takes `along` to minus `across` and `across` to `along`, as a rotation takes a first channel to the second.
        basis = lib.xp.stack([across / height, along], -1)
        return Rebased(Rotation(*cos_sin, Pairing("adjacent", 2, 2)), lib.astype(basis, wide))


def _length(vector: Array) -> Array:
    """Length |v|; its gradient is undefined at v = 0, where a and b span no plane."""
    return (vector * vector).sum(-1) ** 0.5


ROW = Row(
    MultiplicativeGRAPE,
    (MultiplicativeGRAPE(dim=5), MultiplicativeGRAPE(dim=4, rate=0.25)),
    "Zhang et al. 2025, arXiv:2512.07805",
    ("GRAPE-M",),
    "To use one learned plane of a head for position and the rest for content.",
)
