"""Sinusoidal encoding, in its published conventions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, check_range
from posenc.core.declared_fields import Base, Real, Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.adds._pairs import arranged
from posenc.frequencies import Geometric
from posenc.frequencies.geometric import Exponent
from posenc.phase import FixedSinusoids, Numerics, cos_sin, short_on_host


@dataclass(frozen=True)
class Sinusoidal(AdditiveEncoding):
    """PE(p, 2i) = sin(p·base^(-2i/dim)), PE(p, 2i+1) = cos(p·base^(-2i/dim)).

    Vaswani et al. 2017, arXiv:1706.03762, §3.5. The published conventions are named by fields. MLX's
    SinusoidalPositionalEncoding is layout="concatenated", exponent="i/(d/2-1)", scale=sqrt(2/dim).

    Positions (*batch, n), integers or float32/float64, in steps; result (*batch, n, dim).

    Args:
        dim: Channels of the embedding.
        base: The wavelengths rise from 2π towards base·2π positions.
        layout: "interleaved" as in the paper, or "concatenated" (all sines, then all cosines: tensor2tensor).
        exponent: "2i/d" (paper), "i/d", or "i/(d/2-1)" (tensor2tensor).
        first: "sine" (paper) or "cosine".
        scale: Every value is multiplied by it.
        start: Added to every position; 1 counts tokens from one.
        odd: What an odd width does: "error"; "truncate" drops the last cosine; "zero" leaves the last channel 0.
        numerics: "exact", or "float32" for what released models compute.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> Sinusoidal(dim=4).embed([0, 1, 3]).round(4)
        array([[ 0.    ,  1.    ,  0.    ,  1.    ],
               [ 0.8415,  0.5403,  0.01  ,  1.    ],
               [ 0.1411, -0.99  ,  0.03  ,  0.9996]])
    """

    dim: Annotated[int, Whole(2)]
    base: Base = 10_000.0
    layout: Literal["interleaved", "concatenated"] = "interleaved"
    exponent: Exponent = "2i/d"
    first: Literal["sine", "cosine"] = "sine"
    scale: Annotated[float, Real(-1e6, 1e6)] = 1.0
    start: Annotated[int, Whole(-(2**31), 2**31 - 1)] = 0
    odd: Literal["error", "truncate", "zero"] = "error"
    numerics: Numerics = "exact"

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    def _check_together(self) -> None:
        if self.dim % 2 and self.odd == "error":
            raise ValueError(
                f"dim must be even, or odd must say what to do; got dim={self.dim}. "
                "Choose odd='truncate' (the last cosine is dropped) or odd='zero' (the last channel is 0)."
            )
        self.frequencies  # noqa: B018 - a width that is too small for the exponent raises here
        if self.odd == "truncate" and 2 * self.frequencies.pairs > self.dim:  # a sine is left without its cosine
            validation.settle(self, claims=type(self).claims - {"shift-linear"})

    @cached_property
    def frequencies(self) -> Geometric:
        """The frequencies of this encoding; with odd="zero" those of the even width below."""
        even = self.dim - (self.dim % 2 if self.odd == "zero" else 0)
        return Geometric(even, self.base, self.exponent, released="exponential")

    @cached_property
    def fixed_sinusoids(self) -> FixedSinusoids | None:
        """Sinusoids from which compiled kernels make the vectors; None unless numerics is "exact"."""
        width = min(self.dim, 2 * self.frequencies.pairs)
        sinusoids = FixedSinusoids(self.frequencies, self.layout, self.first, width, self.scale, self.start)
        return sinusoids if self.numerics == "exact" else None

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        here = short_on_host(positions, self.dim) if self.numerics == "exact" else positions
        if here is positions:
            return self._table(positions, dtype)
        return positions.lib.astype(positions.lib.constant(self._table(here, here.lib.real)), dtype)

    def _table(self, positions: Positions, dtype: Any) -> Array:
        """Compute the vectors of these positions, (*batch, n, dim), with the positions' array library."""
        lib, guard = positions.lib, None
        if self.start:
            positions, guard = self._moved(positions)
        wide = dtype if self.scale == 1.0 else lib.real
        cosine, sine = cos_sin(positions, self.frequencies, wide, self.numerics)
        first, second = (sine, cosine) if self.first == "sine" else (cosine, sine)
        table = self._fitted(arranged(first, second, self.frequencies.pairs, self.layout, lib), lib)
        table = table if self.scale == 1.0 else lib.astype(table * self.scale, dtype)
        return table if guard is None else table + lib.astype(guard, dtype)[..., None]

    def _moved(self, positions: Positions) -> tuple[Positions, Array | None]:
        """Positions + start, and a guard where they cannot be read: 0.0, or NaN for a sum that 32 bits do not hold."""
        lib, bounds = positions.lib, positions.bounds
        if bounds is not None:
            bounds = (bounds[0] + self.start, bounds[1] + self.start)
            check_range("positions", bounds, lib.float64)
        steps = lib.signed(positions.array)
        moved = steps + self.start
        positions, given = positions._replace(array=moved, bounds=bounds), positions
        if given.readable:
            return positions, None
        wrapped = (moved < steps) if self.start > 0 else (moved > steps)
        return positions, lib.xp.where(wrapped, float("nan"), given.guard())

    def _fitted(self, table: Array, lib: Library) -> Array:
        """A table of whole pairs cut or filled to the width of this encoding."""
        missing = self.dim - 2 * self.frequencies.pairs
        if missing < 0:
            return table[..., :missing]
        return lib.xp.concatenate([table, lib.xp.zeros_like(table[..., :missing])], -1) if missing else table


ROW = Row(
    Sinusoidal,
    (
        Sinusoidal(dim=8),
        Sinusoidal(dim=16, base=100.0, start=1, scale=0.5),
        Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
        Sinusoidal(dim=10, exponent="i/d", first="cosine"),
        Sinusoidal(dim=7, odd="truncate"),
        Sinusoidal(dim=9, odd="zero", layout="concatenated"),
        Sinusoidal(dim=8, numerics="float32"),
    ),
    "Vaswani et al. 2017, arXiv:1706.03762",
    ("SinePositionEncoding (Keras)", "PositionalEncoding1D", "SinusoidalPositionalEncoding (MLX)"),
    "For inputs of varying length, without parameters.",
)
