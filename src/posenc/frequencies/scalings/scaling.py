"""Scalings: changes of frequencies for contexts longer than the trained one."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Instance, Real, Untraced, Whole
from posenc.frequencies.geometric import Geometric
from posenc.phase.frequencies import Frequencies

#: The largest stretch that is accepted; the longest in use is in the hundreds.
LARGEST_FACTOR = 1e6
#: The longest length in positions that is accepted.
LONGEST = 2**53
#: By how much the context is stretched, and a length in positions.
Stretch = Annotated[float, Real(1.0, LARGEST_FACTOR)]
PositionCount = Annotated[int, Whole(1, LONGEST)]


@dataclass(frozen=True)
class Scaling(Untraced, abc.ABC):
    """Map of the frequencies of a rotary encoding to other frequencies and an attention factor.

    A scaling that depends on a length states it, and never depends on other inputs.
    """

    @abc.abstractmethod
    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        """Scaled frequencies to 100 digits, in radians a step, one for each pair.

        Args:
            unscaled: Frequencies before the scaling.

        Returns:
            A frequency for each pair.
        """

    @property
    def attention_factor(self) -> float:
        """Factor of cosine and sine, so that logits are multiplied by its square."""
        return 1.0

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        """Compute scaled frequencies (pairs,) as released models do in float32, with the array library `lib`.

        Where no released arithmetic is followed: the exact ones, rounded.

        Args:
            unscaled: Frequencies before the scaling.
            lib: Array library of the call.

        Returns:
            Frequencies (pairs,), float32.
        """
        return lib.constant(_rounded(self, unscaled), lib.xp.float32)

    def fits(self, unscaled: Geometric) -> None:
        """Raise ValueError where this scaling has no meaning for these frequencies.

        Args:
            unscaled: Frequencies to be scaled.
        """
        return


@dataclass(frozen=True)
class Rescaled(Frequencies):
    """Frequencies after a scaling.

    Args:
        unscaled: Frequencies before it, with the exponents 2i/d of a rotary encoding and an even width.
        scaling: The scaling.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: The exponents are others, the width is odd, or the scaling has no meaning for these frequencies.

    Example:
        >>> from posenc.frequencies import Linear
        >>> Rescaled(Geometric(dim=4), Linear(factor=4.0)).radians().tolist()
        [0.25, 0.0025]
    """

    unscaled: Annotated[Geometric, Instance("geometric frequencies, Geometric(dim=64), say")]
    scaling: Annotated[Scaling, Instance("a scaling, Linear(factor=4.0), say")]

    def _check_together(self) -> None:
        if self.unscaled.exponent != "2i/d" or self.unscaled.dim % 2:
            raise ValueError(
                f"unscaled must have the exponents 2i/d of an even width; got exponent={self.unscaled.exponent!r}, "
                f"dim={self.unscaled.dim}. Scalings are defined for rotations alone."
            )
        self.scaling.fits(self.unscaled)

    @property
    def pairs(self) -> int:
        return self.unscaled.pairs

    def exact(self) -> tuple[Decimal, ...]:
        return _remembered(self.scaling, self.unscaled)

    def float32(self, like: Array | Library) -> Array:
        return self.scaling.float32(self.unscaled, arrays.library(like))


def wider_than_two(unscaled: Geometric, name: str) -> None:
    """Refuse a single pair of channels, for which d/(d-2) is no number."""
    if unscaled.dim < 4:
        raise ValueError(f"dim must be at least 4 for {name}, which divides by dim-2; got {unscaled.dim}. Widen it.")


@lru_cache(maxsize=256)
def _remembered(scaling: Scaling, unscaled: Geometric) -> tuple[Decimal, ...]:
    """Scaled frequencies to 100 digits, cached."""
    return scaling.exact(unscaled)


@arrays.host
def _rounded(scaling: Scaling, unscaled: Geometric) -> np.ndarray:
    """Scaled frequencies as float32."""
    return np.array([float(frequency) for frequency in _remembered(scaling, unscaled)], np.float32)
