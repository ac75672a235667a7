"""The embedding of a diffusion model's time step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Base, Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.adds._pairs import arranged
from posenc.frequencies.shifted_exponent import Shifted
from posenc.phase import Numerics, cos_sin


@dataclass(frozen=True)
class TimestepEmbedding(AdditiveEncoding):
    """PE(t) = (sin(scale·t·ω_i) for every i, then cos(scale·t·ω_i)), ω_i = max_period^(-i / (dim/2 - shift)).

    Ho et al. 2020, arXiv:2006.11239, appendix B and released code. Fields name the choices of later models.

    Positions (*batch, n), integers or float32/float64: the time steps; result (*batch, n, dim).

    Args:
        dim: Channels; the last one of an odd width is 0.
        shift: 1 as in tensor2tensor and DDPM, where the slowest frequency is exactly 1/max_period; 0 in models after
            ADM.
        flip: Cosines before sines, as in most models with shift 0.
        scale: Multiplies the time step, 1000 where it is given in [0, 1].
        max_period: ω falls from 1 towards its inverse, in radians per time step.
        numerics: "exact", or "float32" for what released models compute.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> TimestepEmbedding(dim=4, shift=0.0, flip=True).embed([0, 500]).round(4)
        array([[ 1.    ,  1.    ,  0.    ,  0.    ],
               [-0.8838,  0.2837, -0.4678, -0.9589]])
    """

    dim: Annotated[int, Whole(2)]
    shift: float = 1.0
    flip: bool = False
    scale: float = 1.0
    max_period: Base = 10_000.0
    numerics: Numerics = "exact"

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    def _check_together(self) -> None:
        shifted = self.frequencies
        validation.settle(self, shift=shifted.shift, scale=shifted.scale, max_period=shifted.base)

    @cached_property
    def frequencies(self) -> Shifted:
        """The frequencies, with the scale in them."""
        return Shifted(self.dim // 2, self.max_period, self.shift, self.scale)

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        cosine, sine = cos_sin(positions, self.frequencies, dtype, self.numerics)
        first, second = (cosine, sine) if self.flip else (sine, cosine)
        table, xp = arranged(first, second, self.dim // 2, "concatenated", positions.lib), positions.lib.xp
        return table if self.dim % 2 == 0 else xp.concatenate([table, xp.zeros_like(table[..., :1])], -1)


ROW = Row(
    TimestepEmbedding,
    (
        TimestepEmbedding(dim=8),
        TimestepEmbedding(dim=9, shift=0.0, flip=True, scale=1000.0, max_period=1e5),
        TimestepEmbedding(dim=10, shift=0.5, numerics="float32"),
    ),
    "Ho et al. 2020, arXiv:2006.11239",
    ("get_timestep_embedding (diffusers)", "Timesteps (diffusers)", "timestep_embedding (ADM)"),
    "To tell a diffusion model its time step or noise level.",
)
