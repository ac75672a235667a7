"""LieRE: a learned rotation for each axis, exponentiated together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import along_axes
from posenc.core.declared_fields import Heads, Whole
from posenc.core.doors import Claim, Params, Role, RotaryEncoding
from posenc.core.operators import Matrices
from posenc.core.row import Row
from posenc.phase import exponential


@dataclass(frozen=True)
class LieRE(RotaryEncoding):
    """x → exp(Σ_a p_a·A_a)·x, block by block of the head, with a learned skew-symmetric A_a for each axis.

    Ostmeier et al. 2024, arXiv:2406.10322, in the authors' code: A_a = U_a - U_aᵀ for the part U_a of generators above
    the diagonal, drawn from [0, 2π). Positions there run from 0 to 1 along an image. Generators of different axes do
    not commute, so that with several axes and blocks above 2 q·k depends on more than differences.

    Positions (*batch, n), or (*batch, n, axes) for several axes, integers or float32/float64, such that angles stay
    below 65536 radians (ValueError, or NaN if values cannot be checked); params["generators"] (axes, heads, dim/block,
    block, block), with `shared` (axes, 1, dim/block, block, block). Gives `Matrices`, with an error of some units in
    the last place for each radian.

    Args:
        dim: Channels of a head.
        heads: Heads as they are rotated (repeat grouped ones first).
        block: Channels that rotate together, which divide dim.
        axes: Coordinates of a position.
        shared: Whether all heads have the same generators (`rotary_embedding_per_head` false).

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding, params = LieRE(dim=2, heads=1, block=2), {"generators": np.full((1, 1, 1, 2, 2), np.pi / 2)}
        >>> encoding.rotation([1], params).matrix.round(4).reshape(2, 2).tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
    """

    dim: Annotated[int, Whole(2)]
    heads: Heads
    block: Annotated[int, Whole(2)]
    axes: Annotated[int, Whole(1, 16)] = 1
    shared: bool = False

    always: ClassVar[frozenset[Claim]] = frozenset({"isometry", "streaming", "bounded", "fractional", "learned"})

    def _check_together(self) -> None:
        if self.dim % self.block:
            raise ValueError(f"block must divide dim={self.dim}; got {self.block}. Give a divisor.")
        validation.size("dim", self.axes * self.heads * self.dim * self.block)

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        commute = self.axes == 1 or self.block == 2  # all rotations of one plane commute
        return self.always | {"relative"} if commute else self.always

    @property
    def fastest(self) -> float:
        """Upper bound of radians a step with fresh parameters; rounding errors of angles scale with it."""
        return 2 * math.pi * self.block * self.axes

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        sets = 1 if self.shared else self.heads
        return {"generators": (self.axes, sets, self.dim // self.block, self.block, self.block)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw generators uniformly from [0, 2π), as the authors do."""
        return {"generators": rng.uniform(0.0, 2 * math.pi, self.shapes["generators"])}

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Matrices:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib = positions.lib
        above = lib.xp.triu(lib.widest(learned["generators"]), 1)
        skew = above - above.swapaxes(-1, -2)
        parts = zip(along_axes(positions, self.axes), skew, strict=True)
        angles = [
            lib.widest(part.array)[..., None, :, None, None, None] * generators[:, None] for part, generators in parts
        ]
        matrix = lib.astype(exponential(sum(angles[1:], angles[0])), lib.wide_dtype(dtype))
        if self.shared:
            matrix = lib.xp.broadcast_to(matrix, (*matrix.shape[:-5], self.heads, *matrix.shape[-4:]))
        return Matrices(matrix, self.heads)


ROW = Row(
    LieRE,
    (
        LieRE(dim=4, heads=2, block=2),
        LieRE(dim=3, heads=2, block=3, axes=2),
        LieRE(dim=4, heads=2, block=2, axes=2, shared=True),
    ),
    "Ostmeier et al. 2024, arXiv:2406.10322",
    ("LierePositionEncoder",),
    "For images and volumes of one size, with learned rotations.",
)
