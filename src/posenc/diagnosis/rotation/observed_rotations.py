"""Rotations as observed, and what they show: frequencies, used positions, and the coordinate of each pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: A longer step between two rows measures a frequency more finely, and may be so many times the step before.
STEP_GROWTH = 3
LONGEST_STEP = 8192
#: How far two readings of a frequency may be apart, in radians, if both are of one rotation; of coarse numbers the
#: last.
CONSISTENT = (1e-5, 0.02)
#: How far the axis that is meant may be off, and how much more than another, before the other is believed.
LEAST_GAP, TIMES_AS_FAR = 5e-7, 1.5


class ObservedRotations(NamedTuple):
    """Numbers cos + i·sin of every pair as it was rotated, at distinct positions.

    Args:
        positions: (rows,) or (rows, axes).
        values: cos + i·sin, (rows, pairs).
        weight: How much each number is worth, (rows, pairs): the square of what was rotated.
        coarse: Whether the numbers came in a 16-bit type.
    """

    positions: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    coarse: bool

    def frequencies(self) -> np.ndarray | None:
        """Radians a position for each pair, (pairs,), from rows ever further apart; None without two neighbours.

        Where rows far apart show others than the first two neighbours, as where a table ends, these two decide. Of
        several coordinates, rows count whose coordinates are all the same: those of text, or the diagonal of a grid.
        """
        if self.positions.ndim > 1:
            alike = np.ptp(self.positions, axis=1) == 0
            line = (self.positions[alike, 0], self.values[alike], self.weight[alike])
            return ObservedRotations(*line, self.coarse).frequencies() if alike.any() else None
        first = self._rows_at_distance(0)
        if first is None:
            return None
        near = np.angle(np.conj(self.values[first[0][0]]) * self.values[first[1][0]])
        far = self._far_frequencies()
        return far if np.all(np.abs(far - near) <= CONSISTENT[self.coarse]) else near

    def _far_frequencies(self) -> np.ndarray:
        frequencies, step = np.zeros(self.values.shape[1]), 0
        while (rows := self._rows_at_distance(step)) is not None:
            here, there, step = rows
            product = np.conj(self.values[here]) * self.values[there] * (self.weight[here] * self.weight[there]) ** 0.5
            with np.errstate(all="ignore"):
                frequencies += np.angle((product * np.exp(-1j * step * frequencies)).sum(0)) / step
        return frequencies

    def _rows_at_distance(self, step: int) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Indices of rows a longer step apart than `step`, and that step, 1 at first; None where there are none."""
        steps = np.unique(self.positions - self.positions[:1])
        limit = min(max(1, step * STEP_GROWTH), LONGEST_STEP)
        longer = steps[(steps > step) & (steps <= limit) & (steps == np.floor(steps))]
        for following in [1.0] if step == 0 else longer[::-1]:
            there = np.searchsorted(self.positions, self.positions + following)
            here = np.flatnonzero(there < len(self.positions))
            here = here[self.positions[there[here]] == self.positions[here] + following]
            if here.size:
                return here, there[here], int(following)
        return None

    def attention_factor(self) -> float:
        """Factor that cosines and sines are multiplied by."""
        return float((np.abs(self.values) * self.weight).sum() / max(self.weight.sum(), 1e-300))

    def used_positions(self, frequencies: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """The position that each row was really rotated from, (rows,) or (rows, axes), for pairs of these frequencies.

        The slowest pair shows it roughly, but for its whole revolutions: those nearest to what is meant are taken. Each
        faster pair shows it more finely.
        """
        used = self.positions.reshape(len(self.positions), -1).astype(np.float64)
        for pair in np.argsort(np.abs(frequencies), kind="stable"):
            if frequencies[pair]:
                ahead = self.values[:, pair] * np.exp(-1j * used[:, axis[pair]] * frequencies[pair])
                used[:, axis[pair]] += np.angle(ahead) / frequencies[pair]
        return used[:, 0] if self.positions.ndim == 1 else used

    def axes(self, frequencies: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Coordinate that each pair reads, (pairs,); the expected one where several explain it alike."""
        size = max(self.attention_factor(), 1e-300)
        angle = self.positions[:, :, None] * frequencies
        gap = np.abs(self.values[:, None] / size - np.exp(1j * angle)).max(0)
        best, of_expected = gap.argmin(0), gap[expected, np.arange(len(expected))]
        return np.where(of_expected > TIMES_AS_FAR * gap.min(0) + LEAST_GAP, best, expected)


def rotations_of(before: np.ndarray, after: np.ndarray, positions: np.ndarray, coarse: bool) -> ObservedRotations:
    """Read rotations off complex pairs (n, pairs) before and after; rows at one position are combined."""
    distinct, number = np.unique(positions, axis=0, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(len(distinct)))
    product = np.add.reduceat((after * np.conj(before))[order], starts)
    weight = np.add.reduceat((np.abs(before) ** 2)[order], starts)
    return ObservedRotations(distinct, product / np.maximum(weight, 1e-300), weight, coarse)
