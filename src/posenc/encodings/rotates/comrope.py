"""ComRoPE: learned rotations of blocks of channels that commute along all axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import along_axes
from posenc.core.declared_fields import Heads, Real, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.operators import Matrices
from posenc.core.row import Row
from posenc.phase import exponential


@dataclass(frozen=True)
class ComRoPE(RotaryEncoding):
    """x → exp(t_b·A_b)·x for block b of the head, A_b = F_b - F_bᵀ learned, and t_b = Σ_a p_a·multiplier[a, b].

    Yu et al. 2025, arXiv:2506.03737, in the authors' code. Along every axis a block rotates by the same generator, so
    the rotations commute and q·k depends only on differences of coordinates.

    Positions (*batch, n), or (*batch, n, axes) for several axes, integers or float32/float64, such that angles stay
    below 65536 radians (ValueError, or NaN if values cannot be checked); params["generators"] (heads, dim/block, block,
    block), and params["multiplier"] (axes, dim/block) where they are learned. Gives `Matrices`, good to some units of
    the last place a radian.

    Args:
        dim: Channels of a head.
        heads: Heads as they are rotated (repeat grouped ones first).
        block: Channels that rotate together, which divide dim.
        axes: Coordinates of a position.
        commuting: "dependent" learns the multipliers (ComRoPE-LD); "partition" gives block b to the axis b mod axes
            (ComRoPE-AP), and the number of blocks must be a multiple of axes.
        std: Standard deviation of fresh F.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding, f = ComRoPE(dim=2, heads=1, block=2, axes=2), np.array([[[[0.0, np.pi / 2], [0.0, 0.0]]]])
        >>> params = {"generators": f, "multiplier": np.array([[1.0], [10.0]])}
        >>> encoding.rotation([[-9, 1]], params).matrix.round(4).reshape(2, 2).tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
    """

    dim: Annotated[int, Whole(2)]
    heads: Heads
    block: Annotated[int, Whole(2)]
    axes: Annotated[int, Whole(1, 16)] = 1
    commuting: Literal["dependent", "partition"] = "dependent"
    std: Annotated[float, Real(0.0, 1e3, above=True)] = 1.0

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "fractional", "learned"})

    def _check_together(self) -> None:
        if self.dim % self.block:
            raise ValueError(f"block must divide dim={self.dim}; got {self.block}. Give a divisor.")
        if self.commuting == "partition" and self.blocks % self.axes:
            raise ValueError(f"axes must divide the number of blocks, {self.blocks}; got {self.axes}. Give a divisor.")
        validation.size("dim", (self.axes + self.heads * self.block) * self.dim)

    @property
    def blocks(self) -> int:
        """How many blocks a head has."""
        return self.dim // self.block

    @property
    def fastest(self) -> float:
        """Approximate largest radians a step with fresh parameters; rounding errors of angles scale with it."""
        return 8.0 * self.std * self.block * self.axes

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        generators = {"generators": (self.heads, self.blocks, self.block, self.block)}
        return generators | ({"multiplier": (self.axes, self.blocks)} if self.commuting == "dependent" else {})

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """F from N(0, std²), multipliers from N(0, 1)."""
        spread = {"generators": self.std, "multiplier": 1.0}
        return {name: spread[name] * rng.standard_normal(shape) for name, shape in self.shapes.items()}

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Matrices:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib, generators = positions.lib, positions.lib.widest(learned["generators"])
        shares = lib.constant(np.arange(self.blocks) % self.axes == np.arange(self.axes)[:, None], lib.real)
        shares = lib.widest(learned["multiplier"]) if self.commuting == "dependent" else shares
        parts = zip(along_axes(positions, self.axes), shares, strict=True)
        angles = [lib.widest(part.array)[..., None] * generator for part, generator in parts]
        steps = sum(angles[1:], angles[0])[..., None, :, :, None, None]
        skew = (generators - generators.swapaxes(-1, -2))[:, None]
        return Matrices(lib.astype(exponential(steps * skew), lib.wide_dtype(dtype)), self.heads)


ROW = Row(
    ComRoPE,
    (
        ComRoPE(dim=4, heads=2, block=2),
        ComRoPE(dim=6, heads=3, block=3, axes=2, commuting="partition", std=0.5),
    ),
    "Yu et al. 2025, arXiv:2506.03737",
    ("ComRoPELDAttention", "ComRoPEAPAttention"),
    "For images, like LieRE, if shifting the whole image must change nothing.",
)
