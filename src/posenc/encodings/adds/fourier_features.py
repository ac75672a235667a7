"""Fourier features of a coordinate: the bands of NeRF and of the Perceiver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Claim, Params
from posenc.core.row import Row
from posenc.encodings.adds._pairs import Layout, arranged
from posenc.frequencies.bands import Bands, Spacing, most_bands
from posenc.phase import cos_sin


@dataclass(frozen=True)
class FourierFeatures(AdditiveEncoding):
    """PE(p) = (sin(f_k·π·p), cos(f_k·π·p)) for the bands k = 0 … bands-1.

    Mildenhall et al. 2020, arXiv:2003.08934, eq. 4 (spacing "octaves", interleaved); Jaegle et al. 2021,
    arXiv:2103.03206, §3.2 (spacing "linear", concatenated, coordinate first). Meant for coordinates in [-1, 1], but
    exact everywhere. With octaves the period is 2: 1 has the same features as -1.

    Positions (*batch, n), integers or float32/float64, in units of which two make the widest period; result (*batch, n,
    2·bands), with coordinate=True one channel more.

    Args:
        bands: How many frequencies, two channels each; at most 24 octaves.
        spacing: "octaves", f_k = 2^k; "linear", f evenly from 1 to resolution/2; "logarithmic", f from 1 to
            resolution/2 by one factor.
        resolution: Samples over the two units from -1 to 1, required by "linear" and "logarithmic" alone.
        layout: "interleaved" (sine and cosine of band 0, of band 1, …) or "concatenated" (all sines, then all cosines).
        coordinate: Whether p itself is an additional first channel.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> FourierFeatures(bands=2).embed([0.25, 1.0]).round(4) + 0.0
        array([[ 0.7071,  0.7071,  1.    ,  0.    ],
               [ 0.    , -1.    ,  0.    ,  1.    ]])
    """

    bands: int = 10
    spacing: Spacing = "octaves"
    resolution: float | None = None
    layout: Layout = "interleaved"
    coordinate: bool = False

    def _check_together(self) -> None:
        validation.integer("bands", self.bands, 1, most_bands(self.spacing))
        validation.settle(self, bands=self.frequencies.count, resolution=self.frequencies.resolution)

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        always: frozenset[Claim] = frozenset({"streaming", "unlimited", "fractional"})
        return always if self.coordinate else always | {"bounded", "shift-linear"}

    @property
    def width(self) -> int:
        return 2 * self.bands + self.coordinate

    @cached_property
    def frequencies(self) -> Bands:
        """How fast each band rotates."""
        return Bands(self.bands, self.spacing, self.resolution)

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        lib = positions.lib
        cosine, sine = cos_sin(positions, self.frequencies, dtype)
        features = arranged(sine, cosine, self.bands, self.layout, lib)
        if not self.coordinate:
            return features
        guarded = lib.widest(positions.array) + positions.guard()
        return lib.xp.concatenate([lib.astype(guarded, dtype)[..., None], features], -1)


ROW = Row(
    FourierFeatures,
    (
        FourierFeatures(bands=9, spacing="linear", resolution=7.0, layout="concatenated", coordinate=True),
        FourierFeatures(bands=3),
        FourierFeatures(bands=3, spacing="logarithmic", resolution=16.0, layout="concatenated"),
    ),
    "Mildenhall et al. 2020, arXiv:2003.08934",
    ("NeRF positional encoding", "PerceiverFourierPositionEncoding", "FourierEmbed (timm)"),
    "For real coordinates between -1 and 1: fields, point clouds, pixels, samples of sound.",
)
