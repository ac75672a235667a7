"""p-RoPE: the fastest share of the pairs rotates."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Real
from posenc.frequencies.geometric import Geometric, powers
from posenc.frequencies.scalings.scaling import Scaling, Stretch
from posenc.phase.frequencies import EXACT


@dataclass(frozen=True)
class Proportional(Scaling):
    """Rotate the first ⌊fraction·d/2⌋ pairs with the frequencies of the whole width, ω/factor; the others stand still.

    The slowest pairs carry content, so they are left to it. rope_type "proportional" of transformers (Gemma 4),
    `partial_rotary_factor` its fraction. `Partial` differs: there the exponents are those of the rotated width.

    Args:
        fraction: Share of the pairs that rotate, above 0 and at most 1; at least one pair must.
        factor: Divisor of their frequencies, as in `Linear`.

    Raises:
        TypeError: A field is no number.
        ValueError: A field is out of range, or no pair rotates.

    References:
        Barbero et al. 2024, arXiv:2410.06205 (p-RoPE).

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=8), Proportional(fraction=0.5)).radians().tolist()
        [1.0, 0.1, 0.0, 0.0]
    """

    fraction: Annotated[float, Real(0.0, 1.0, above=True)]
    factor: Stretch = 1.0

    def fits(self, unscaled: Geometric) -> None:
        if not self.rotating(unscaled):
            raise ValueError(
                f"fraction must rotate at least one of {unscaled.pairs} pairs; got {self.fraction}. Raise it, or "
                "use NoPE."
            )

    def rotating(self, unscaled: Geometric) -> int:
        """Number of pairs that rotate.

        Args:
            unscaled: Frequencies before the scaling.

        Returns:
            Number of pairs.
        """
        return int(self.fraction * unscaled.dim // 2)

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        rotating = self.rotating(unscaled)
        kept = [EXACT.divide(frequency, Decimal(self.factor)) for frequency in unscaled.exact()[:rotating]]
        return (*kept, *(Decimal(0) for _ in range(unscaled.pairs - rotating)))

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        rotating = 1.0 / powers(unscaled.base, unscaled, lib, self.rotating(unscaled)) / self.factor
        unrotated = lib.constant(_zeros(self, unscaled), lib.xp.float32)
        return lib.xp.concatenate([rotating, unrotated], 0)


@arrays.host
def _zeros(scaling: Proportional, unscaled: Geometric) -> np.ndarray:
    """Zero for every pair that stands still."""
    return np.zeros(unscaled.pairs - scaling.rotating(unscaled), np.float32)
