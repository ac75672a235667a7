"""Base class of frequencies."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from posenc.core.arrays import Array, Library, library
from posenc.core.declared_fields import Untraced
from posenc.phase.tracked_rounding import TRACKED

#: Decimal arithmetic for frequencies: 100 digits, so that 170 bits of a revolution are left at any rate in use.
EXACT = Context(prec=100)

#: Twice pi to 120 digits.
TWO_PI = Decimal(
    "6.283185307179586476925286766559005768394338798750211641949889184615632812572417997"
    "25606965068423413596429617302656"
)


@dataclass(frozen=True)
class Frequencies(Untraced, abc.ABC):
    """Speed at which each pair of channels rotates, in radians for one step of position."""

    @abc.abstractmethod
    def exact(self) -> tuple[Decimal, ...]:
        """Frequencies to 100 digits, in radians a step, one for each pair."""

    @property
    @abc.abstractmethod
    def pairs(self) -> int:
        """Number of frequencies."""

    def radians(self) -> np.ndarray:
        """Frequencies as float64, correctly rounded; shape (pairs,)."""
        return np.array([float(frequency) for frequency in self.exact()])

    def wavelengths(self) -> np.ndarray:
        """Positions for one whole revolution, 2π/ω, as float64 (pairs,); infinite for a pair that stands still."""
        return np.array([float(EXACT.divide(TWO_PI, frequency)) if frequency else np.inf for frequency in self.exact()])

    def float32(self, like: Array | Library) -> Array:
        """Frequencies as released models hold them: float32, by their own arithmetic, in the library of `like`."""
        lib = library(like)
        return lib.constant(self.radians(), lib.xp.float32)

    def rounding(self) -> np.ndarray:
        """How far the arithmetic of `float32` may put each frequency off, in radians a step; float64 (pairs,).

        A bound: the sum of what each step of the formula may round, and of what further steps make of it.
        """
        return _rounding(self)

    def angle32(self, positions: Array, lib: Library) -> Array:
        """Angles of float32 positions as released models form them; shape (*positions, pairs)."""
        return positions[..., None] * self.float32(lib)


@lru_cache(maxsize=1024)
def _rounding(frequencies: Frequencies) -> np.ndarray:
    """Bound on the error of float32 frequencies; constants that released code rounds on the host count as they are."""
    followed = frequencies.float32(TRACKED)
    return np.asarray(followed.error + np.abs(followed.value - frequencies.radians()))
