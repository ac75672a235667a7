"""Rotary position embedding of the plane in which each pair has its own direction, not only rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, EvenWidth
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.encodings.rotates.axial_rope import pair_numbers
from posenc.frequencies import Chosen, Directed, Geometric
from posenc.phase import cos_sin_of_sum


@dataclass(frozen=True)
class DirectionalRoPE(RotaryEncoding):
    """Rotate pair i by (y·cos(π·d_i) + x·sin(π·d_i))·ω_i, with ω_i = base^(-2·frequency_index[i]/frequency_dim).

    The angle is the projection of the position on direction d_i, times the frequency of the pair.

    Spiral RoPE (Liu et al. 2026, arXiv:2602.03227): groups of channels with evenly spread directions, d = g/K for group
    g of K, say; or golden-angle directions, one a pair. Directions 0 and 1/2 alone are axial RoPE. The two parts of an
    angle are added in fixed point, so far places are as exact as near ones.

    The released code of Spiral RoPE (huajianduzhuo-code/Spiral_RoPE, commit bde84ff) differs in two ways. All of its
    frequencies are 1.5 times these: multiply positions by 1.5. And it takes projections from a table of the image by
    interpolation (`grid_sample` with padding_mode="border"), which clamps them: counted from the middle, no projection
    is longer than half a side. For diagonal directions that changes the corners, a fifth of 14 × 14 patches.

    Positions (*batch, n, 2), integers or float32/float64; the Rotation holds cos and sin of shape (*batch, n, dim/2).

    Args:
        direction: Of each pair, in half revolutions from the first coordinate, from -1 to 1.
        frequency_index: Which frequency each pair has, from 0.
        frequency_dim: The d of the frequencies base^(-2i/d).
        base: The base of these frequencies, which are in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2), dim twice the number of directions.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> encoding = DirectionalRoPE(direction=(0.0, 0.25), frequency_index=(0, 0), frequency_dim=2)
        >>> rotation = encoding.rotation([[1, 0], [1, 1]])
        >>> rotation.cos.round(4).tolist()  # cos 1 twice; of 1/√2 and of √2
        [[0.5403, 0.7602], [0.5403, 0.1559]]
    """

    direction: tuple[float, ...]
    frequency_index: tuple[int, ...]
    frequency_dim: EvenWidth
    base: Base = 10_000.0
    pairing: PairLayout = "adjacent"

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"})

    def _check_together(self) -> None:
        indices = pair_numbers(self.frequency_dim // 2 - 1)
        validation.settle(self, frequency_index=indices("frequency_index", self.frequency_index))
        validation.settle(self, direction=self.on_axes[0].direction)

    @property
    def axes(self) -> int:
        return 2

    @property
    def head_dim(self) -> int:
        return 2 * len(self.frequency_index)

    @cached_property
    def on_axes(self) -> tuple[Directed, Directed]:
        """How fast each pair rotates with each coordinate."""
        chosen = Chosen(Geometric(self.frequency_dim, self.base), self.frequency_index)
        return Directed(chosen, self.direction, "first"), Directed(chosen, self.direction, "second")

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        cos_sin = cos_sin_of_sum(split_coordinates(positions, 2), self.on_axes, dtype)
        return Rotation(*cos_sin, Pairing(self.pairing, self.head_dim, self.head_dim))


ROW = Row(
    DirectionalRoPE,
    (
        DirectionalRoPE(direction=(0.0, 0.25, 0.5, 0.75), frequency_index=(0, 1, 0, 1), frequency_dim=4, base=100.0),
        DirectionalRoPE(direction=(0.0, 0.61, -0.78), frequency_index=(0, 1, 2), frequency_dim=6, pairing="halves"),
    ),
    "Liu et al. 2026, arXiv:2602.03227",
    ("Spiral RoPE", "GoldenGateRoPENd (article)"),
    "For images whose slanting neighbours should be told apart as well as those in a row.",
)
