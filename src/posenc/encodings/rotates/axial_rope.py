"""Rotary position embedding over several axes: which axis and which frequency each pair has, as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from posenc import _array, _check
from posenc._array import Array
from posenc.checked_positions import coordinates
from posenc.declared_fields import Base, Instance
from posenc.doors import Claim, Params, Role, Rotates
from posenc.frequencies import Chosen, Geometric, InTurns, Linear, Rescaled, Scaling
from posenc.phase import FixedFrequencies, Frequencies, Numerics, cos_sin, product_dtype
from posenc.row import Row
from posenc.turn import Pairing, Turn

MOST_AXES = 16  # more coordinates than any medium has


@dataclass(frozen=True)
class AxialRoPE(Rotates):
    """Turn pair i by the angle position[axis[i]] · base^(-2·rung[i]/ladder). `axial` gives it for named layouts.

    For the patches of an image, `axial(dim=64)` chooses the axes, the frequencies and the pairing.
    Every rotation over a grid, a video or mixed media is these choices: the axis of each pair, its frequency, and how
    channels are paired. Su et al. 2021, arXiv:2104.09864, eq. 15, on each axis; over two axes Fang et al. 2023,
    arXiv:2303.11331, and Heo et al. 2024, arXiv:2403.13298, §3.2; in sections Wang et al. 2024, arXiv:2409.12191.

    axis: the coordinate that each pair reads, from 0; as many as pairs.     rung: its frequency's place in the ladder.
    ladder: the width that the exponents are taken of: dim where axes share one ladder, dim/axes where each has its own.
    Or a record of frequencies of which `rung` chooses, Bands or Joined, say; base and scaling are then left alone.
    pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2), inside each of `blocks` equal blocks.
    numerics, scaling: as in `RoPE`; a scaling changes the ladder, before the rungs are chosen.

    Positions (*batch, n, axes), integers or float32/float64; the Turn holds cos and sin of shape (*batch, n, dim/2).
    Raises ValueError or TypeError naming the field or `positions`.

    >>> turn = AxialRoPE(axis=(0, 1), rung=(0, 0), ladder=2).turn([[1, 0], [0, 1]])
    >>> turn.cos.round(4).tolist()
    [[0.5403, 1.0], [1.0, 0.5403]]
    """

    axis: tuple[int, ...]
    rung: tuple[int, ...]
    ladder: int | Frequencies
    base: Base = 10_000.0
    pairing: Literal["adjacent", "halves"] = "adjacent"
    blocks: int = 1
    numerics: Numerics = "exact"
    scaling: Annotated[Scaling, Instance("a scaling such as Linear(factor=4.0), or None")] | None = None

    claims: ClassVar[frozenset[Claim]] = frozenset(
        {"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"}
    )
    _instead: ClassVar[str] = "For an image, posenc.axial(dim=64) gives them all."

    def _check_together(self) -> None:
        _check.settle(self, axis=_numbers("axis", self.axis, MOST_AXES - 1))
        if not isinstance(self.ladder, Frequencies):
            _check.settle(self, ladder=_check.integer("ladder", self.ladder, 2, even=True))
        elif self.base != 10_000.0 or self.scaling is not None:
            raise ValueError(
                f"ladder must be a width where base or scaling is given; got {self.ladder!r}. Put them into this "
                "record."
            )
        _check.settle(self, rung=_numbers("rung", self.rung, self.rungs.pairs - 1))
        if len(self.rung) != len(self.axis):
            raise ValueError(f"rung must have one number a pair, {len(self.axis)}; got {len(self.rung)}. Give as many.")
        if set(self.axis) != set(range(self.axes)):
            raise ValueError(f"axis must use every coordinate from 0 to its last; got {self.axis}. Leave none out.")
        if self.attention_factor != 1.0:
            _check.settle(self, claims=type(self).claims - {"isometry"})
        _check.settle(self, blocks=self.channels.blocks)

    @property
    def axes(self) -> int:
        return max(self.axis) + 1

    @property
    def head_dim(self) -> int:
        return 2 * len(self.axis)

    @property
    def channels(self) -> Pairing:
        return Pairing(self.pairing, self.head_dim, self.head_dim, 0, self.blocks)

    @property
    def rungs(self) -> Frequencies:
        """The whole ladder, of which each pair has one rung."""
        if isinstance(self.ladder, Frequencies):
            return self.ladder
        ladder = Geometric(self.ladder, self.base)
        return ladder if self.scaling is None else Rescaled(ladder, self.scaling)

    @cached_property
    def frequencies(self) -> Frequencies:
        """How fast each pair turns along its own axis."""
        return Chosen(self.rungs, self.rung)

    @cached_property
    def on_axes(self) -> tuple[Chosen, ...]:
        """The frequencies of the pairs on each axis."""
        return tuple(
            Chosen(self.frequencies, tuple(pair for pair, pair_axis in enumerate(self.axis) if pair_axis == axis))
            for axis in range(self.axes)
        )

    @cached_property
    def attention_factor(self) -> float:
        """What cos and sin are multiplied by; logits by its square."""
        return 1.0 if self.scaling is None else self.scaling.attention_factor

    @cached_property
    def fixed_frequencies(self) -> FixedFrequencies | None:
        """The frequencies of the turns, for compiled kernels."""
        exact = self.numerics == "exact"
        return FixedFrequencies(self.frequencies, self.axis, self.channels, self.attention_factor) if exact else None

    def turn(self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None) -> Turn:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib, factor = positions.lib, self.attention_factor
        wide = dtype if factor == 1.0 else product_dtype(self.numerics, lib)
        tables = [
            cos_sin(part, frequencies, wide, self.numerics)
            for part, frequencies in zip(coordinates(positions, self.axes), self.on_axes, strict=True)
        ]
        order = lib.constant(_order(self))
        cosine, sine = (lib.xp.concatenate(list(parts), -1)[..., order] for parts in zip(*tables, strict=True))
        if factor != 1.0:
            cosine, sine = lib.astype(cosine * factor, dtype), lib.astype(sine * factor, dtype)
        return Turn(cosine, sine, self.channels, factor)


@_array.host
def _order(record: AxialRoPE) -> np.ndarray:  # where each pair stands when the pairs are put axis by axis
    return np.argsort(np.argsort(record.axis, kind="stable"))


def _numbers(name: str, value: Any, most: int) -> tuple[int, ...]:
    if not isinstance(value, tuple | list) or not value:
        raise TypeError(f"{name} must be a tuple of whole numbers, one a pair; got {_check.shown(value)}. Give (0, 1).")
    return tuple(_check.integer(name, number, 0, most) for number in value)


ROW = Row(
    AxialRoPE,
    (
        AxialRoPE(axis=(0, 0, 1, 1), rung=(0, 1, 0, 1), ladder=4, base=100.0),
        AxialRoPE(axis=(0, 1, 2, 0), rung=(0, 1, 2, 3), ladder=8, pairing="halves", scaling=Linear(factor=4.0)),
        AxialRoPE(axis=(0, 0, 1, 1), rung=(0, 1, 0, 1), ladder=4, pairing="halves", blocks=2, numerics="float32"),
        AxialRoPE(axis=(0, 1), rung=(1, 2), ladder=InTurns(Geometric(dim=6, base=100.0))),
    ),
    "Wang et al. 2024, arXiv:2409.12191",
    ("M-RoPE", "RotaryEmbeddingCat (timm)", "get_axial_freqs (rotary-embedding-torch)", "MRotaryEmbedding (vLLM)"),
    "For images, video and mixed media: each pair turns by one coordinate, which you choose.",
)
