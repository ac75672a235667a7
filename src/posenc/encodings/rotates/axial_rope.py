"""Rotary position embedding over several axes: which axis and which frequency each pair has, as data."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, Instance, TupleOf, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Chosen, Geometric, InRevolutions, Joined, Linear, Rescaled, Scaling
from posenc.phase import FixedFrequencies, Frequencies, Numerics, cos_sin, product_dtype

MOST_AXES = 16  # more coordinates than any medium has


def pair_numbers(most: int) -> TupleOf:
    """Make the field validator for a tuple of integers, one a pair, each from 0 to `most`."""
    return TupleOf(Whole(0, most), "a tuple of whole numbers, one a pair", "Give (0, 1).")


@dataclass(frozen=True)
class AxialRoPE(RotaryEncoding):
    """Rotate pair i by the angle position[axis[i]] · base^(-2·frequency_index[i]/frequency_dim); `axial` names some.

    For the patches of an image, `axial(dim=64)` chooses the axes, the frequencies and the pairing. Every rotation over
    a grid, a video or mixed media whose pairs read one coordinate each is three choices: the axis of each pair, its
    frequency, and how channels are paired. Su et al. 2021, arXiv:2104.09864, eq. 15, on each axis; over two axes Fang
    et al. 2023, arXiv:2303.11331, and Heo et al. 2024, arXiv:2403.13298, §3.2; in sections Wang et al. 2024,
    arXiv:2409.12191.

    Positions (*batch, n, axes), integers or float32/float64; the Rotation holds cos and sin of shape (*batch, n,
    dim/2).

    Args:
        axis: The coordinate that each pair reads, from 0; as many as pairs.
        frequency_index: Which of the frequencies each pair takes, from 0.
        frequency_dim: The d of the frequencies base^(-2i/d): dim where axes share them, dim/axes where each has its
            own. Or frequencies to choose from, Bands or Joined, say; base and scaling then keep their defaults.
        base: The base of these frequencies, which are in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2), inside each of `blocks` equal blocks.
        blocks: Equal blocks of channels inside which pairs are formed.
        numerics: "exact", or "float32" for what released models compute.
        scaling: How to change the frequencies for a longer context, before each pair takes one; None for not at all.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> from posenc import axial
        >>> from posenc.positions import grid
        >>> axial(dim=64).rotation(grid(14, 14)).cos.shape  # 14 × 14 patches of a vision transformer, 32 pairs
        (196, 32)
        >>> rotation = AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2).rotation([[1, 0], [0, 1]])
        >>> rotation.cos.round(4).tolist()
        [[0.5403, 1.0], [1.0, 0.5403]]
    """

    axis: Annotated[tuple[int, ...], pair_numbers(MOST_AXES - 1)]
    frequency_index: tuple[int, ...]
    frequency_dim: int | Frequencies
    base: Base = 10_000.0
    pairing: PairLayout = "adjacent"
    blocks: int = 1
    numerics: Numerics = "exact"
    scaling: Annotated[Scaling, Instance("a scaling such as Linear(factor=4.0), or None")] | None = None

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"})
    _instead: ClassVar[str] = "For an image, posenc.axial(dim=64) gives them all."

    def _check_together(self) -> None:
        if not isinstance(self.frequency_dim, Frequencies):
            validation.settle(self, frequency_dim=validation.integer("frequency_dim", self.frequency_dim, 2, even=True))
        elif self.base != 10_000.0 or self.scaling is not None:
            raise ValueError(
                f"frequency_dim must be a width where base or scaling is given; got {self.frequency_dim!r}. Put them "
                "into this encoding."
            )
        indices = pair_numbers(self.all_frequencies.pairs - 1)
        validation.settle(self, frequency_index=indices("frequency_index", self.frequency_index))
        if len(self.frequency_index) != len(self.axis):
            raise ValueError(
                f"frequency_index must have one number a pair, {len(self.axis)}; got {len(self.frequency_index)}. "
                "Give as many."
            )
        if set(self.axis) != set(range(self.axes)):
            raise ValueError(f"axis must use every coordinate from 0 to its last; got {self.axis}. Leave none out.")
        if self.attention_factor != 1.0:
            validation.settle(self, claims=type(self).claims - {"isometry"})
        validation.settle(self, blocks=self.channels.blocks)

    @property
    def axes(self) -> int:
        return max(self.axis) + 1

    @property
    def head_dim(self) -> int:
        return 2 * len(self.axis)

    @property
    def channels(self) -> Pairing:
        """Pairing of the channels."""
        return Pairing(self.pairing, self.head_dim, self.head_dim, 0, self.blocks)

    @property
    def all_frequencies(self) -> Frequencies:
        """The frequencies of which each pair takes one."""
        if isinstance(self.frequency_dim, Frequencies):
            return self.frequency_dim
        unscaled = Geometric(self.frequency_dim, self.base)
        return unscaled if self.scaling is None else Rescaled(unscaled, self.scaling)

    @cached_property
    def frequencies(self) -> Frequencies:
        """How fast each pair rotates along its own axis."""
        return Chosen(self.all_frequencies, self.frequency_index)

    @cached_property
    def on_axes(self) -> tuple[Chosen, ...]:
        """The frequencies of the pairs on each axis."""
        return tuple(
            Chosen(self.frequencies, tuple(pair for pair, pair_axis in enumerate(self.axis) if pair_axis == axis))
            for axis in range(self.axes)
        )

    @cached_property
    def attention_factor(self) -> float:
        """Factor of cos and sin; logits are multiplied by its square."""
        return 1.0 if self.scaling is None else self.scaling.attention_factor

    @cached_property
    def fixed_frequencies(self) -> FixedFrequencies | None:
        """The frequencies of the rotations, for compiled kernels."""
        exact = self.numerics == "exact"
        return FixedFrequencies(self.frequencies, self.axis, self.channels, self.attention_factor) if exact else None

    def scaled(self, scaling: Scaling, *, axis: int) -> AxialRoPE:
        """Scale the frequencies of the pairs on one axis, such as the time of a video, and leave the others.

        Args:
            scaling: Scaling such as RIFLEx(pair=4, length=120).
            axis: Number of the axis, from 0.

        Returns:
            Encoding with a `frequency_dim` of joined frequencies.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: There is no such axis, its frequencies are scaled already or are not those of one width and
                base, the scaling has an attention factor, or it has no meaning for them.

        Example:
            >>> video = AxialRoPE(axis=(0, 0, 1, 1), frequency_index=(0, 1, 0, 1), frequency_dim=4)
            >>> slowed = video.scaled(Linear(factor=2.0), axis=0)
            >>> slowed.frequencies.radians().tolist()
            [0.5, 0.005, 1.0, 0.01]
        """
        scaling = validation.instance("scaling", scaling, Scaling, "a scaling, Linear(factor=4.0), say")
        axis = validation.integer("axis", axis, 0, self.axes - 1)
        whole = self.all_frequencies
        parts = list(whole.parts) if isinstance(whole, Joined) else [whole]
        ends = np.cumsum([part.pairs for part in parts]).tolist()
        used = [bisect_right(ends, index) for index in self.frequency_index]
        own = {part for part, pair_axis in zip(used, self.axis, strict=True) if pair_axis == axis}
        if len(own) != 1 or not isinstance(parts[min(own)], Geometric) or scaling.attention_factor != 1.0:
            raise ValueError(
                f"scaling must change geometric frequencies of one axis and nothing else; got {scaling!r} for "
                f"{[parts[part] for part in sorted(own)]!r}. Build frequency_dim from Rescaled and Joined instead."
            )
        part = own.pop()
        first = ends[-1] - (ends[part] - parts[part].pairs)
        rescaled = Rescaled(parts[part], scaling)  # type: ignore[arg-type]
        indices = tuple(
            index + first if pair_axis == axis else index
            for index, pair_axis in zip(self.frequency_index, self.axis, strict=True)
        )
        return replace(
            self, frequency_dim=Joined((*parts, rescaled)), frequency_index=indices, base=10_000.0, scaling=None
        )

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib, factor = positions.lib, self.attention_factor
        wide = dtype if factor == 1.0 else product_dtype(self.numerics, lib)
        tables = [
            cos_sin(part, frequencies, wide, self.numerics)
            for part, frequencies in zip(split_coordinates(positions, self.axes), self.on_axes, strict=True)
        ]
        order = lib.constant(_order(self))
        cosine, sine = (lib.xp.concatenate(list(parts), -1)[..., order] for parts in zip(*tables, strict=True))
        if factor != 1.0:
            cosine, sine = lib.astype(cosine * factor, dtype), lib.astype(sine * factor, dtype)
        return Rotation(cosine, sine, self.channels, factor)


@arrays.host
def _order(encoding: AxialRoPE) -> np.ndarray:  # where each pair stands when the pairs are put axis by axis
    return np.argsort(np.argsort(encoding.axis, kind="stable"))


ROW = Row(
    AxialRoPE,
    (
        AxialRoPE(axis=(0, 0, 1, 1), frequency_index=(0, 1, 0, 1), frequency_dim=4, base=100.0),
        AxialRoPE(
            axis=(0, 1, 2, 0),
            frequency_index=(0, 1, 2, 3),
            frequency_dim=8,
            pairing="halves",
            scaling=Linear(factor=4.0),
        ),
        AxialRoPE(
            axis=(0, 0, 1, 1),
            frequency_index=(0, 1, 0, 1),
            frequency_dim=4,
            pairing="halves",
            blocks=2,
            numerics="float32",
        ),
        AxialRoPE(axis=(0, 1), frequency_index=(1, 2), frequency_dim=InRevolutions(Geometric(dim=6, base=100.0))),
    ),
    "Wang et al. 2024, arXiv:2409.12191",
    ("M-RoPE", "RotaryEmbeddingCat (timm)", "get_axial_freqs (rotary-embedding-torch)", "MRotaryEmbedding (vLLM)"),
    "For images, video and mixed media: each pair rotates by one coordinate, which you choose.",
)
