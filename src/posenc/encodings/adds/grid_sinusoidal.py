"""The sinusoidal encoding over several axes: a slice of the channels for each coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, TupleOf, Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.rotates.axial_rope import MOST_AXES
from posenc.frequencies import Chosen, Geometric
from posenc.phase import cos_sin

Layout = Literal["interleaved", "concatenated", "gathered"]
#: What `dims` and `order` are, what to give in their place, and how many numbers they may have.
COORDINATES = (
    f"a tuple of 2 to {MOST_AXES} whole numbers, one a coordinate",
    "Give two for rows and columns.",
    2,
    MOST_AXES,
)


@dataclass(frozen=True)
class GridSinusoidal(AdditiveEncoding):
    """Slice s of the channels is the sinusoidal encoding of position[order[s]].

    Channel pair i of a slice holds sin and cos of p·base^(-2i/frequency_dim).

    Vaswani et al. 2017, arXiv:1706.03762, §3.5, on each axis: over two Carion et al. 2020, arXiv:2005.12872 (DETR) and
    He et al. 2022, arXiv:2111.06377 (MAE).

    With positions (row, column): DETR has dims (d/2, d/2); RT-DETR the same, concatenated; MAE and diffusers besides
    order=(1, 0); timm gathers. positional-encodings rounds dims up to even, equal ones and cuts the last: dims (6, 4),
    frequency_dim=6 for d = 10. diffusers' video has dims (d/4, 3d/8, 3d/8), order=(0, 2, 1). DETR counts from 1:
    `positions.grid_from_mask`.

    Positions (*batch, n, axes), integers or float32/float64, in steps; result (*batch, n, sum of dims).

    Args:
        dims: Channels of each slice, even; one slice for each coordinate.
        order: The coordinate each slice reads; None is 0, 1, ….
        base: Frequency i is base^(-2i/frequency_dim), in radians per step.
        layout: "interleaved" (a sine, its cosine) or "concatenated" (sines, cosines) within each slice, or "gathered":
            the sines of all slices, then all cosines.
        first: "sine" or "cosine".
        frequency_dim: The width that the exponents are taken of; None is each slice's own.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> GridSinusoidal(dims=(2, 2), order=(1, 0)).embed([[0, 1]]).round(4).tolist()
        [[0.8415, 0.5403, 0.0, 1.0]]
    """

    dims: Annotated[tuple[int, ...], TupleOf(Whole(2, even=True), *COORDINATES)]
    order: Annotated[tuple[int, ...], TupleOf(Whole(0, MOST_AXES - 1), *COORDINATES)] | None = None
    base: Base = 10_000.0
    layout: Layout = "interleaved"
    first: Literal["sine", "cosine"] = "sine"
    frequency_dim: int | None = None

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    def _check_together(self) -> None:
        if self.order is None:
            validation.settle(self, order=tuple(range(self.axes)))
        if sorted(self.order or ()) != list(range(self.axes)):
            raise ValueError(
                f"order must name each of {self.axes} coordinates once; got {self.order}. Give (0, 1), say."
            )
        if self.frequency_dim is not None:
            validation.settle(
                self, frequency_dim=validation.integer("frequency_dim", self.frequency_dim, max(self.dims), even=True)
            )

    @property
    def axes(self) -> int:
        return len(self.dims)

    @property
    def width(self) -> int:
        return sum(self.dims)

    @cached_property
    def frequencies(self) -> tuple[Chosen, ...]:
        """The frequencies of each slice."""
        return tuple(
            Chosen(Geometric(self.frequency_dim or dim, self.base), tuple(range(dim // 2))) for dim in self.dims
        )

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        parts, xp = split_coordinates(positions, self.axes), positions.lib.xp
        slices = []
        for axis, frequencies in zip(self.order or (), self.frequencies, strict=True):
            tables = cos_sin(parts[axis], frequencies, dtype)
            # The same shape, with a width that torch.compile knows: it takes that of a host constant for an open one.
            cosine, sine = (table.reshape((*table.shape[:-1], frequencies.pairs)) for table in tables)
            slices.append((sine, cosine) if self.first == "sine" else (cosine, sine))
        if self.layout == "interleaved":
            columns = [
                xp.stack(list(both), -1).reshape((*both[0].shape[:-1], 2 * both[0].shape[-1])) for both in slices
            ]
        elif self.layout == "concatenated":
            columns = [table for both in slices for table in both]
        else:
            columns = [both[which] for which in (0, 1) for both in slices]
        return xp.concatenate(columns, -1)


ROW = Row(
    GridSinusoidal,
    (
        GridSinusoidal(dims=(4, 4)),
        GridSinusoidal(dims=(6, 6), order=(1, 0), base=100.0, layout="concatenated", first="cosine"),
        GridSinusoidal(dims=(4, 6, 2), order=(0, 2, 1), layout="gathered", frequency_dim=6),
    ),
    "Carion et al. 2020, arXiv:2005.12872",
    (
        "DetrSinePositionEmbedding",
        "build_sincos2d_pos_embed (timm)",
        "get_2d_sincos_pos_embed (MAE, diffusers)",
        "PositionalEncoding2D",
        "PositionalEncoding3D",
    ),
    "For images and videos of varying size, without parameters.",
)
