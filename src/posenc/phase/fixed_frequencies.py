"""Rotations and sinusoids of fixed frequencies: every angle is one coordinate of a position times an exact number."""

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
    """Base of frequencies whose limbs, from which compiled kernels compute, are cached at first use."""

    frequencies: Frequencies
    axis: Any

    @cached_property
    def limbs(self) -> np.ndarray:
        """Cached array, int64 (6, pairs), of which `frequency_limbs` returns a copy."""
        return np.concatenate([limbs(self.frequencies, 32, 5), np.array([self.axis])])


@dataclass(frozen=True)
class FixedFrequencies(_WithLimbs):
    """Frequencies of a rotary encoding, from which compiled code makes its rotations.

    Pair i rotates by position[axis[i]] · ω_i.

    Args:
        frequencies: ω, radians a step.
        axis: Coordinate that each pair reads.
        pairing: Channels of each pair.
        factor: Factor of cosine and sine.
    """

    frequencies: Frequencies
    axis: tuple[int, ...]
    pairing: Pairing
    factor: float = 1.0

    @property  # a cached one holds a lock, which torch.compile cannot trace
    def axes(self) -> int:
        """Number of coordinates of a position, up to the last one that a pair reads."""
        return max(self.axis) + 1


@dataclass(frozen=True)
class FixedSinusoids(_WithLimbs):
    """Sinusoids of an additive encoding, from which compiled code makes its vectors.

    Sines and cosines of (position + start) · ω_i, times the factor.

    Args:
        frequencies: ω, radians a step.
        layout: "interleaved", both of a pair side by side, or "concatenated", all of `first` and then the others.
        first: Function of the first channel.
        width: Channels that they fill, of which the last may be left out; those behind are 0.
        factor: Factor of sine and cosine.
        start: Number added to positions.
    """

    frequencies: Frequencies
    layout: Literal["interleaved", "concatenated"]
    first: Literal["sine", "cosine"]
    width: int
    factor: float = 1.0
    start: int = 0

    @property
    def axis(self) -> tuple[int, ...]:
        """Coordinate that each pair reads: always 0, the only one."""
        return (0,) * self.frequencies.pairs


def along_one(frequencies: Frequencies, pairing: Pairing, factor: float = 1.0) -> FixedFrequencies:
    """Fixed frequencies for positions of one coordinate."""
    return FixedFrequencies(frequencies, (0,) * frequencies.pairs, pairing, factor)


def fixed_frequencies_of(encoding: Any) -> FixedFrequencies | None:
    """`fixed_frequencies` of an encoding; None where it has none or `Encoding.__init_subclass__` dropped them."""
    return getattr(encoding, "fixed_frequencies", None)


def fixed_sinusoids_of(encoding: Any) -> FixedSinusoids | None:
    """`fixed_sinusoids` of an encoding; None where it has none or `Encoding.__init_subclass__` dropped them."""
    return getattr(encoding, "fixed_sinusoids", None)


@arrays.host
def frequency_limbs(fixed: FixedFrequencies | FixedSinusoids) -> np.ndarray:
    """Frequencies as a compiled kernel takes them, int64 (6, pairs).

    Returns:
        Five limbs of 32 bits of a revolution, the topmost first, and the axis of each pair.
    """
    return fixed.limbs.copy()


@remembered(256)
def frequency_words(fixed: FixedFrequencies) -> np.ndarray:
    """Frequencies in 2^-128 revolutions, for each coordinate and pair.

    Returns:
        int64 (2, axes, pairs), the upper bits first; 0 where a pair does not read a coordinate.
    """
    is_read = np.arange(fixed.axes)[:, None] == np.array(fixed.axis)
    return np.where(is_read, revolution_words(fixed.frequencies)[:, None], 0)
