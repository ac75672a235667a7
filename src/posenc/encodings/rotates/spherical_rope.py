"""Spherical RoPE: triples of channels rotated about two axes of space, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.operators import Matrices
from posenc.core.row import Row
from posenc.frequencies import Chosen, Geometric
from posenc.phase import cos_sin


@dataclass(frozen=True)
class SphericalRoPE(RotaryEncoding):
    """x → roll(p[0]·ω_i)·yaw(p[1]·ω_i)·x for triple i of the channels, (3i, 3i+1, 3i+2), with ω_i = base^(-2i/dim).

    Van de Geijn et al. 2025, arXiv:2511.08368, §4, in the authors' code. Yaw rotates the first channel of a triple to
    the third, roll the second to the third. The two do not commute, so scores depend on more than differences of
    positions. The paper tests whether that matters. The authors' class scales no positions, and neither does this
    encoding: their range (rows and columns of patches, or coordinates from 0 to 1) changes scores, so keep that of
    training.

    Positions (*batch, n, 2), integers or float32/float64. Gives `Matrices`, (*batch, n, dim/3, 3, 3).

    Args:
        dim: Channels of a head, a multiple of 3.
        base: Base of the frequencies, which are in radians per step.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> SphericalRoPE(dim=3).rotation([[1, 1]]).matrix[0, 0].round(4).tolist()
        [[0.5403, 0.0, -0.8415], [-0.7081, 0.5403, -0.4546], [0.4546, 0.8415, 0.2919]]
    """

    dim: Annotated[int, Whole(3, validation.LARGEST_WIDTH // 2)]
    base: Base = 100.0

    claims = frozenset({"isometry", "streaming", "bounded", "unlimited", "fractional"})

    def _check_together(self) -> None:
        if self.dim % 3:
            raise ValueError(f"dim must be a multiple of 3; got {self.dim}. Give {self.dim + 3 - self.dim % 3}, say.")

    @property
    def axes(self) -> int:
        return 2

    @cached_property
    def frequencies(self) -> Chosen:
        """Frequency base^(-2i/dim) of each triple i, as every second one for width 2·dim, since dim may be odd."""
        return Chosen(Geometric(2 * self.dim, self.base), tuple(range(0, 2 * (self.dim // 3), 2)))

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Matrices:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib, xp = positions.lib, positions.lib.xp
        tables = (cos_sin(part, self.frequencies, lib.real) for part in split_coordinates(positions, 2))
        (roll, rise), (yaw, rotation) = tables
        zero = roll - roll
        rows = [(yaw, zero, -rotation), (-rise * rotation, roll, -rise * yaw), (roll * rotation, rise, roll * yaw)]
        matrix = xp.stack([xp.stack(list(row), -1) for row in rows], -2)
        return Matrices(lib.astype(matrix, lib.wide_dtype(dtype)))


ROW = Row(
    SphericalRoPE,
    (SphericalRoPE(dim=9), SphericalRoPE(dim=6, base=10_000.0)),
    "van de Geijn et al. 2025, arXiv:2511.08368",
    ("Spherical_RoPE (CARE)",),
    "For images, to test whether diagonal directions matter more than relative scores.",
)
