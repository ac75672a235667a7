"""STRING: a rotation over several axes in a learned basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, along_axes
from posenc.core.declared_fields import Base, EvenWidth, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.operators import Rebased
from posenc.core.rotation import Pairing, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric
from posenc.phase import cos_sin_of_learned


@dataclass(frozen=True)
class CayleySTRING(RotaryEncoding):
    """x → P·R(p)·Pᵀ·x, where R rotates pair i by Σ_a p_a·frequencies[a, i], and P = (I - S)(I + S)⁻¹, S = A - Aᵀ.

    Schenck et al. 2025, arXiv:2502.02562 (STRING, with the Cayley transform of a skew-symmetric S as the orthogonal P).
    All rotations that commute along several axes are of this form; q·k then depends on differences of coordinates
    alone. P in front cancels in q·k. A begins at zero, so that P begins as the identity.

    Positions (*batch, n), or (*batch, n, axes) for several axes, integers or float32/float64; params["frequencies"]
    (axes, dim/2), radians a step, and params["A"] (dim, dim). Gives a `Rebased` rotation of pairs (2i, 2i+1),
    exact for the frequencies as they are held.

    Args:
        dim: Channels of a head.
        axes: Coordinates of a position.
        base: Where the frequencies begin, base^(-2i/dim) radians per step, shared out to the axes by a direction drawn
            for each pair.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding = CayleySTRING(dim=2)
        >>> params = {"frequencies": np.array([[np.pi / 2]]), "A": np.zeros((2, 2))}
        >>> encoding.rotation([0, 1], params)(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    dim: EvenWidth
    axes: Annotated[int, Whole(1, 16)] = 1
    base: Base = 10_000.0

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("dim", self.dim * self.dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"frequencies": (self.axes, self.dim // 2), "A": (self.dim, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """base^(-2i/dim) times a unit vector over the axes, drawn for each pair; A is zero."""
        direction = rng.standard_normal((self.axes, self.dim // 2))
        direction = np.abs(direction) if self.axes == 1 else direction
        axis_frequencies = Geometric(self.dim, self.base).radians() * direction / np.linalg.norm(direction, axis=0)
        return {"frequencies": axis_frequencies, "A": np.zeros((self.dim, self.dim))}

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rebased:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        cosine, sine = _summed(along_axes(positions, self.axes), learned["frequencies"])
        rotation = Rotation(lib.astype(cosine, wide), lib.astype(sine, wide), Pairing("adjacent", self.dim, self.dim))
        return Rebased(rotation, lib.astype(_cayley(learned["A"], lib), wide))


def _summed(parts: tuple[Positions, ...], frequencies: Array) -> tuple[Array, Array]:
    """Cosine and sine of the sum of the angles on all axes: each angle is exact, and their sinusoids are multiplied."""
    wide = parts[0].lib.real
    cosine, sine = cos_sin_of_learned((parts[0],), (frequencies[0],), wide)
    for part, frequency in zip(parts[1:], frequencies[1:], strict=True):
        c, s = cos_sin_of_learned((part,), (frequency,), wide)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    return cosine, sine


def _cayley(matrix: Array, lib: Library) -> Array:
    """(I - S)(I + S)⁻¹ for S = A - Aᵀ, orthogonal; (I + S) is never singular, and the two factors commute."""
    wide = lib.widest(matrix)
    skew = wide - wide.swapaxes(0, 1)
    one = lib.constant(np.eye(matrix.shape[0]), lib.real)
    return lib.xp.linalg.solve(one + skew, one - skew)


ROW = Row(
    CayleySTRING,
    (CayleySTRING(dim=4), CayleySTRING(dim=6, axes=2, base=100.0)),
    "Schenck et al. 2025, arXiv:2502.02562",
    ("Cayley-STRING", "STRING"),
    "For grids and point clouds whose planes of rotation training should find, still relative along every axis.",
)
