"""Rotations and waves at a steady rate: every angle is one coordinate of the position times a fixed,
exact frequency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from posenc import _array
from posenc.phase.fixed_point import limbs, turn_words
from posenc.phase.frequencies import Frequencies
from posenc.turn import Pairing


@dataclass(frozen=True)
class Steady:
    """What the turns of a record are made of, so that compiled code can make them:
    pair i turns by position[axis[i]] · ω_i.

    frequencies: ω, radians a step.     axis: the coordinate that each pair reads.     pairing: its channels.
    factor: what cosine and sine are multiplied by.
    """

    frequencies: Frequencies
    axis: tuple[int, ...]
    pairing: Pairing
    factor: float = 1.0

    @property
    def axes(self) -> int:
        return max(self.axis) + 1


@dataclass(frozen=True)
class Waves:
    """What the vectors of a record that adds are made of, so that compiled code can make them: sines and cosines of
    (position + start) · ω_i, times the factor.

    layout: "interleaved", both of a pair side by side, or "concatenated", all of `first` and then the others. width:
    channels that they fill, of which the last may be left out; those behind are 0.
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


def along_one(frequencies: Frequencies, pairing: Pairing, factor: float = 1.0) -> Steady:
    """The same for positions of one coordinate."""
    return Steady(frequencies, (0,) * frequencies.pairs, pairing, factor)


def steady_of(record: Any) -> Steady | None:
    """What the record says its turns are made of, in `steady`; None where it does not,
    or a subclass of it turns in its own way."""
    said: Steady | None = getattr(record, "steady", None)
    return said if said is not None and _its_own(record, "steady", "turn") else None


def waves_of(record: Any) -> Waves | None:
    """What the record says its vectors are made of, in `waves`; None as for `steady_of`."""
    said: Waves | None = getattr(record, "waves", None)
    return said if said is not None and _its_own(record, "waves", "embed") else None


@_array.host
def _its_own(record: Any, said: str, done: str) -> bool:
    """Whether no class nearer than the one that says it has a way of its own of doing it."""
    names = (name for owner in type(record).__mro__ for name in (said, done) if name in vars(owner))
    return next(names) == said


@_array.host
def rates(steady: Steady | Waves) -> np.ndarray:
    """Frequencies as a compiled kernel takes them, int64 (6, pairs): five limbs of 32 bits of a turn,
    the topmost first, and axes."""
    return np.concatenate([limbs(steady.frequencies, 32, 5), np.array([steady.axis])])


@_array.host
def words(steady: Steady) -> np.ndarray:
    """Frequencies in 2^-128 turns, for each coordinate and pair, int64 (2, axes, pairs), the upper bits first; 0 where
    a pair does not read it."""
    return _remembered_words(steady).copy()


@lru_cache(maxsize=256)
def _remembered_words(steady: Steady) -> np.ndarray:
    own = np.arange(steady.axes)[:, None] == np.array(steady.axis)
    found = np.where(own, turn_words(steady.frequencies)[:, None], 0)
    found.setflags(write=False)
    return found
