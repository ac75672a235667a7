"""Base class of frequencies."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np

from posenc.core.arrays import Array, Library, library
from posenc.core.declared_fields import Untraced

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

    def angle32(self, positions: Array, lib: Library) -> Array:
        """Angles of float32 positions as released models form them; shape (*positions, pairs)."""
        return positions[..., None] * self.float32(lib)
