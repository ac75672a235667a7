"""A sinusoid in one channel, and the positions where it may have a value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from posenc.core import validation
from posenc.phase import Frequencies, cosine_sine
from posenc.phase.frequencies import EXACT

#: Candidate positions looked at together.
BLOCK = 1 << 18


@dataclass(frozen=True)
class SinusoidOfChannel(Frequencies):
    """Sinusoid of one channel: factor · sin or cos of (position + start) · base^-(top/bottom)."""

    base: float
    top: int
    bottom: int
    kind: str
    factor: float = 1.0
    start: int = 0

    @property
    def pairs(self) -> int:
        return 1

    def exact(self) -> tuple[Decimal, ...]:
        exponent = EXACT.divide(Decimal(-self.top), Decimal(self.bottom))
        return (EXACT.exp(EXACT.multiply(EXACT.ln(Decimal(self.base)), exponent)),)

    @property
    def speed(self) -> float:
        """Radians a step."""
        return float(self.exact()[0])

    @property
    def crest(self) -> float:
        """Angle in radians at which the sinusoid without its factor peaks: 0 for a cosine, π/2 for a sine."""
        return math.pi / 2 if self.kind == "sine" else 0.0

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Values at positions, from the exact phase."""
        cosine, sine = cosine_sine(positions + self.start, self)
        return np.asarray((sine if self.kind == "sine" else cosine)[..., 0] * self.factor)

    def stretches(self, low: float, high: float, largest: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the ranges in 0 … `largest`, as first and last whole positions, where the value may lie in [low, high].

        Rising order; a hair too wide, so that nothing is lost to rounding: what is found is to be verified.
        """
        if self.factor == 0:
            low, high = (-1.0, 1.0) if low <= 0 <= high else (2.0, 2.0)
        else:
            low, high = sorted((low / self.factor, high / self.factor))
        if low > 1 or high < -1:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        inner, outer = math.acos(min(high, 1.0)), math.acos(max(low, -1.0))
        begin, end = self._angles(inner, outer, largest)
        margin = 1e-6 + 1e-15 * self.speed * (largest + abs(self.start))
        first = np.maximum(np.ceil((begin - margin) / self.speed) - self.start, 0.0)
        last = np.minimum(np.floor((end + margin) / self.speed) - self.start, float(largest))
        kept = first <= last
        return _different_pairs(first[kept].astype(np.int64), last[kept].astype(np.int64))

    def _angles(self, inner: float, outer: float, largest: int) -> tuple[np.ndarray, np.ndarray]:
        """Intervals of angle, (begins, ends), in which the value lies in the range sought: two for each revolution."""
        lowest = math.floor(self.speed * self.start / (2 * math.pi)) - 1
        highest = math.ceil(self.speed * (self.start + largest) / (2 * math.pi)) + 1
        validation.size("largest", 128 * (highest - lowest + 1))
        turns = self.crest + 2 * math.pi * np.arange(lowest, highest + 1)
        return np.concatenate([turns + inner, turns - outer]), np.concatenate([turns + outer, turns - inner])

    def nearest(self, value: float, position: int) -> float | None:
        """Real-valued position nearest to `position` with exactly this value; None where it never has it."""
        if self.factor == 0 or abs(value) > abs(self.factor):
            return None
        theta = math.acos(value / self.factor)
        angle = self.speed * (position + self.start)
        solutions = []
        for branch in (self.crest + theta, self.crest - theta):
            nearest = branch + 2 * math.pi * round((angle - branch) / (2 * math.pi))
            solutions.append(nearest / self.speed - self.start)
        return min(solutions, key=lambda one: abs(one - position))


def position_blocks(starts: np.ndarray, ends: np.ndarray) -> Iterable[np.ndarray]:
    """Yield all positions of the ranges `starts` … `ends`, in their order, in blocks of at most 262,144."""
    sizes = ends - starts + 1
    before = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    for begin in range(0, total, BLOCK):
        number = np.arange(begin, min(begin + BLOCK, total))
        run = np.searchsorted(before, number, side="right") - 1
        yield starts[run] + (number - before[run])


def _different_pairs(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort ranges of positions, and trim or drop those that overlap earlier ones."""
    if not first.size:
        return first, last
    order = np.argsort(first, kind="stable")
    first, last = first[order], np.maximum.accumulate(last[order])
    first[1:] = np.maximum(first[1:], last[:-1] + 1)
    return first[first <= last], last[first <= last]
