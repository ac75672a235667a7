"""XD-RoPE as transformers computes it: rotary tables whose sections cut through the two channels of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, TupleOf, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.operators import ByChannel
from posenc.core.row import Row
from posenc.encodings.rotates.axial_rope import MOST_AXES, AxialRoPE
from posenc.frequencies import NTKAware, Scaling
from posenc.phase import Numerics

SECTIONS = TupleOf(
    Whole(1, 1 << 16),
    f"a tuple of 2 to {MOST_AXES} numbers of pairs, one an axis",
    "Give (16, 16, 16, 16), say.",
    2,
    MOST_AXES,
)


@dataclass(frozen=True)
class XDRoPE(RotaryEncoding):
    """(a, b) → (a·cos α - b·sin α, b·cos β + a·sin β) for channels i and i + dim/2, α = p[u]·ω_i and β = p[v]·ω_i.

    HunYuan-VL in transformers 5.23, ω_i = base^(-2i/dim). The sections are dealt out over the channels: the first
    2·sections[0] of them read coordinate 0, the next 2·sections[1] coordinate 1, and so on, so that channel i reads
    coordinate u and its partner coordinate v. For text all coordinates are equal, and this is `RoPE` on halves. For
    images it is not a rotation: lengths change, and scores depend on more than differences. HunYuan's own first code
    and vLLM assign the sections to whole pairs, which is a rotation: `axial("qwen2-vl", sections)`.

    Positions (*batch, n, axes), integers or float32/float64. Gives a `ByChannel` with cos and sin (*batch, n, dim).

    Args:
        sections: Pairs of each axis, (width, height, image) or (position, width, height, image); dim is twice their
            sum.
        base: Frequency i is base^(-2i/dim), in radians per step.
        numerics: "exact", or "float32" for what released models compute.
        scaling: How to change the frequencies for a longer context, or None; HunYuan's alpha is
            `NTKAware(factor=alpha)`.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> XDRoPE(sections=(1, 1)).rotation([[0, 1]]).cos.round(4).tolist()
        [[1.0, 1.0, 0.5403, 1.0]]
    """

    sections: Annotated[tuple[int, ...], SECTIONS]
    base: Base = 10_000.0
    numerics: Numerics = "exact"
    scaling: Scaling | None = None

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional"})

    def _check_together(self) -> None:
        validation.integer("sections", sum(self.sections), 1, validation.LARGEST_WIDTH // 2)

    @property
    def axes(self) -> int:
        return len(self.sections)

    @property
    def head_dim(self) -> int:
        return 2 * sum(self.sections)

    @cached_property
    def channels(self) -> AxialRoPE:
        """AxialRoPE of a head twice as wide, whose pair c has the coordinate and frequency of channel c here."""
        pairs, ends = range(sum(self.sections)), tuple(accumulate(2 * count for count in self.sections))
        axis = tuple(sum(channel >= end for end in ends) for channel in range(self.head_dim))
        return AxialRoPE(axis, (*pairs, *pairs), self.head_dim, self.base, numerics=self.numerics, scaling=self.scaling)

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> ByChannel:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        split_coordinates(positions, self.axes)
        rotation = self.channels.rotation(positions.array, dtype=positions.lib.wide_dtype(dtype))
        return ByChannel(rotation.cos, rotation.sin)


ROW = Row(
    XDRoPE,
    (
        XDRoPE(sections=(1, 2), base=100.0),
        XDRoPE(sections=(1, 1, 1), numerics="float32"),
        XDRoPE(sections=(2, 1, 1, 2), scaling=NTKAware(factor=1000.0)),
    ),
    "no paper: released code of HunYuan-VL; sections are those of Wang et al. 2024, arXiv:2409.12191",
    ("HunYuanVLRotaryEmbedding (transformers)", "mrope_section (HunYuan-VL)"),
    "To reproduce HunYuan-VL in transformers; for a new model, use a rotation.",
)
