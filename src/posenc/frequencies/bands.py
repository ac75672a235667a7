"""Frequencies of Fourier features: octaves, and bands up to a resolution."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from posenc.core import validation
from posenc.core.declared_fields import Real
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies

Spacing = Literal["octaves", "linear", "logarithmic"]
SPACINGS = ("octaves", "linear", "logarithmic")

#: Above these a fraction of a position, as float32 holds it, would be more than a rotation beyond its last bit.
MOST_OCTAVES = 24
LARGEST_RESOLUTION = 1 << 16


def most_bands(spacing: str) -> int:
    """Return the largest number of bands: for octaves, as many as positions in float32 can tell apart."""
    return MOST_OCTAVES if spacing == "octaves" else validation.LARGEST_WIDTH // 2


@dataclass(frozen=True)
class Bands(Frequencies):
    """ω_k = π·f_k for the bands k = 0 … count-1, in radians for one unit of position.

    Args:
        count: Number of bands.
        spacing: "octaves", f_k = 2^k; "linear", f evenly spaced from 1 to resolution/2; "logarithmic", f from 1 to
            resolution/2 by one factor.
        resolution: Samples over the two units from -1 to 1, whose half is the fastest frequency that they can show;
            None for octaves.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or `resolution` does not go with `spacing`.

    References:
        Mildenhall et al. 2020, arXiv:2003.08934, eq. 4 (octaves); Jaegle et al. 2021, arXiv:2103.03206, §3.2 (linear).
    """

    count: int
    spacing: Spacing = "octaves"
    resolution: Annotated[float, Real(2.0, LARGEST_RESOLUTION, above=True)] | None = None

    def _check_together(self) -> None:
        spacing = validation.choice("spacing", self.spacing, SPACINGS)
        validation.settle(self, count=validation.integer("count", self.count, 1, most_bands(spacing)), spacing=spacing)
        if (self.resolution is None) != (spacing == "octaves"):
            raise ValueError(
                f"resolution must be given with spacing='linear' or 'logarithmic' and only then; got "
                f"resolution={self.resolution!r} with spacing={spacing!r}. Say what the fastest band must resolve, or "
                "leave it out."
            )

    @property
    def pairs(self) -> int:
        return self.count

    def multiples(self) -> tuple[Decimal, ...]:
        """Frequencies f_k in half revolutions for one unit of position, to 100 digits.

        Returns:
            A number for each frequency.
        """
        if self.spacing == "octaves":
            return tuple(Decimal(1 << k) for k in range(self.count))
        top, steps = EXACT.divide(Decimal(self.resolution or 0.0), Decimal(2)), Decimal(max(self.count - 1, 1))
        if self.spacing == "linear":
            step = EXACT.divide(EXACT.subtract(top, Decimal(1)), steps)
            return tuple(EXACT.add(Decimal(1), EXACT.multiply(step, Decimal(k))) for k in range(self.count))
        octave = EXACT.divide(EXACT.ln(top), steps)
        return tuple(EXACT.exp(EXACT.multiply(octave, Decimal(k))) for k in range(self.count))

    def exact(self) -> tuple[Decimal, ...]:
        half_revolution = EXACT.divide(TWO_PI, Decimal(2))
        return tuple(EXACT.multiply(multiple, half_revolution) for multiple in self.multiples())
