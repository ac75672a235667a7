"""Rotations and sinusoids of fixed frequencies: every angle is one coordinate of the position times an exact number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import remembered
from posenc.core.rotation import Pairing
from posenc.phase.fixed_point import limbs, revolution_words
from posenc.phase.frequencies import Frequencies


class _WithLimbs:
    """Fixed frequencies, and the numbers that kernels are made of, worked out at their first use."""

    frequencies: Frequencies
    axis: Any

    @cached_property
    def limbs(self) -> np.ndarray:
        """What `frequency_limbs` gives a copy of."""
        return np.concatenate([limbs(self.frequencies, 32, 5), np.array([self.axis])])


@dataclass(frozen=True)
class FixedFrequencies(_WithLimbs):
    """The frequencies of a rotating encoding, from which compiled code makes its turns.

    Pair i turns by position[axis[i]] · ω_i.

    Args:
        frequencies: ω, radians a step.
        axis: The coordinate that each pair reads.
        pairing: Its channels.
        factor: What cosine and sine are multiplied by.
    """

    frequencies: Frequencies
    axis: tuple[int, ...]
    pairing: Pairing
    factor: float = 1.0

    @cached_property
    def axes(self) -> int:
        """Coordinates that are read."""
        return max(self.axis) + 1


@dataclass(frozen=True)
class FixedSinusoids(_WithLimbs):
    """The sinusoids of an additive encoding, from which compiled code makes its vectors.

    Sines and cosines of (position + start) · ω_i, times the factor.

    Args:
        layout: "interleaved", both of a pair side by side, or "concatenated", all of `first` and then the others.
            width: channels that they fill, of which the last may be left out; those behind are 0.
    """

    frequencies: Frequencies
    layout: Literal["interleaved", "concatenated"]
    first: Literal["sine", "cosine"]
    width: int
    factor: float = 1.0
    start: int = 0

    @property
    def axis(self) -> tuple[int, ...]:
        return (0,) * self.frequencies.pairs


def along_one(frequencies: Frequencies, pairing: Pairing, factor: float = 1.0) -> FixedFrequencies:
    """Fixed frequencies for positions of one coordinate."""
    return FixedFrequencies(frequencies, (0,) * frequencies.pairs, pairing, factor)


def fixed_frequencies_of(encoding: Any) -> FixedFrequencies | None:
    """The encoding's `fixed_frequencies`; None where it has none, or where a subclass overrides `rotation`."""
    return getattr(encoding, "fixed_frequencies", None)


def fixed_sinusoids_of(encoding: Any) -> FixedSinusoids | None:
    """The encoding's `fixed_sinusoids`; None where it has none, or where a subclass overrides `embed`."""
    return getattr(encoding, "fixed_sinusoids", None)


@arrays.host
def frequency_limbs(fixed: FixedFrequencies | FixedSinusoids) -> np.ndarray:
    """Frequencies as a compiled kernel takes them, int64 (6, pairs).

    Five limbs of 32 bits of a revolution, the topmost first, and axes.
    """
    return fixed.limbs.copy()


@remembered(256)
def frequency_words(fixed: FixedFrequencies) -> np.ndarray:
    """Frequencies in 2^-128 revolutions, for each coordinate and pair, int64 (2, axes, pairs), the upper bits first; 0 where a pair does not read it."""
    is_read = np.arange(fixed.axes)[:, None] == np.array(fixed.axis)
    return np.where(is_read, revolution_words(fixed.frequencies)[:, None], 0)
