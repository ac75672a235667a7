"""Rotary position embedding over several axes, an axis for each group of heads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, EvenWidth, Heads, TupleOf, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric
from posenc.phase import cos_sin

#: More coordinates than any medium has.
MOST_AXES = 16


SHARES = TupleOf(
    Whole(1), f"a tuple of 2 to {MOST_AXES} whole numbers, the heads of each axis", "Give (2, 3, 3), say.", 2, MOST_AXES
)


@dataclass(frozen=True)
class HeadwiseRoPE(RotaryEncoding):
    """Rotate pair i of head h at position p by the angle p[axis of h]·base^(-2i/dim).

    Heads beyond the shares do not rotate.

    Multi-Head RoPE, Huang et al. 2025, arXiv:2510.23095, as in the code of Multimodal-RoPEs: the axes share out the
    heads, not the channels, so that each coordinate is told by all frequencies. The rotation is that of Su et al. 2021,
    arXiv:2104.09864, eq. 15.

    Positions (*batch, n, axes), integers or float32/float64, an axis for each share; the Rotation holds cos and sin of
    shape (*batch, heads, n, dim/2), in radians.

    Args:
        dim: Channels of a head.
        heads: Heads as they are rotated (repeat grouped ones first).
        shares: How many heads each axis has, the first ones the first axis; together at most `heads`.
        base: Base of the frequencies, which are in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2).

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> HeadwiseRoPE(dim=2, heads=3, shares=(1, 1)).rotation([[1, 2]]).cos.round(4).tolist()
        [[[0.5403]], [[-0.4161]], [[1.0]]]
    """

    dim: EvenWidth
    heads: Heads
    shares: Annotated[tuple[int, ...], SHARES]
    base: Base = 10_000.0
    pairing: PairLayout = "halves"

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"})

    def _check_together(self) -> None:
        if sum(self.shares) > self.heads:
            raise ValueError(f"shares must be at most heads={self.heads} together; got {self.shares}. Share out fewer.")

    @property
    def axes(self) -> int:
        return len(self.shares)

    @cached_property
    def frequencies(self) -> Geometric:
        """How fast each pair rotates, in every head that does."""
        return Geometric(self.dim, self.base)

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib, xp = positions.lib, positions.lib.xp
        tables = [cos_sin(part, self.frequencies, dtype) for part in split_coordinates(positions, self.axes)]
        cosine, sine = tables[0]
        tables.append((xp.ones_like(cosine) + (cosine - cosine), sine - sine))  # of heads that do not rotate
        axis = lib.constant(_axis_of_heads(self))
        cosine, sine = (xp.stack(list(parts), -3)[..., axis, :, :] for parts in zip(*tables, strict=True))
        return Rotation(cosine, sine, Pairing(self.pairing, self.dim, self.dim), 1.0, self.heads)


@arrays.host
def _axis_of_heads(encoding: HeadwiseRoPE) -> np.ndarray:
    """The axis of every head; one more than the last for those that do not rotate."""
    rest = encoding.heads - sum(encoding.shares)
    return np.repeat(np.arange(len(encoding.shares) + 1), (*encoding.shares, rest))


ROW = Row(
    HeadwiseRoPE,
    (
        HeadwiseRoPE(dim=4, heads=4, shares=(1, 2), pairing="adjacent"),
        HeadwiseRoPE(dim=6, heads=6, shares=(1, 2, 3), base=100.0),
    ),
    "Huang et al. 2025, arXiv:2510.23095",
    ("MHRoPE", "Multi-Head RoPE"),
    "For mixed media whose every coordinate should be told by all frequencies, each in heads of its own.",
)
