"""Comparison of observed numbers with expected ones: how far they are off, and how far rounding may move them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.inspect.rounding import NARROW_TYPES

#: What a value's rounding may change, by the type it came in, of the size of what it was computed from.
ROUNDING = {"float64": 1e-6, "float32": 2e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
#: Of so many numbers, rounding puts the middle one nearer than a bound on each.
TYPICAL = 0.25
#: How far one rounding to float32 may change a number, of itself.
UNIT = 2.0**-24
#: How far a float32 angle may be off, of itself, whatever the scaling: a power of the base may be off by two roundings,
#: its reciprocal and the product with a position round once each.
ANGLE = 4 * UNIT
#: How far a frequency that was computed in float32 may be off, of itself, where its formula's steps allow no more; one
#: that was cast is off by far more.
FLOAT32_FREQUENCY = 4e-6
#: How far frequencies may be off, of themselves, that were only estimated in float32.
ROUGH = 2e-6
#: Where rounding alone may change an angle by more than this, a value shows nothing and is left out.
SIGNIFICANT = 0.05
#: Rows of a subsample.
SUBSAMPLE = 6


def angle_share(frequencies: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """How far a float32 angle may be off, of itself, by the steps in which its frequency was computed.

    Args:
        frequencies: Radians a step, (pairs,).
        rounding: How far float32 arithmetic may put each frequency off, (pairs,).
    """
    size = np.abs(frequencies)
    of_itself = np.divide(rounding, size, out=np.zeros(size.shape), where=size > 0)
    share: np.ndarray = np.maximum(ANGLE, of_itself + UNIT)
    return share


class Comparison(NamedTuple):
    """Gap and tolerance of each number, and whether it shows anything; arrays of one shape.

    Args:
        gap: How far each number is off.
        tolerance: How far it may be off.
        significant: Whether it shows anything.
        typical: How far the root of the mean square may be off, where rounding is coarse and numbers are many.
    """

    gap: np.ndarray
    tolerance: np.ndarray
    significant: np.ndarray
    typical: float = np.inf

    def fits(self, exact: bool = True) -> bool:
        """Whether every significant gap is tolerable; of all numbers, some must be significant."""
        if not np.all((self.gap <= self.tolerance) | ~self.significant):
            return False
        if not exact:
            return True
        return bool(self.significant.any()) and bool(self._root_mean_square() <= self.typical)

    def _root_mean_square(self) -> float:
        return float(np.sqrt(np.mean(self.gap[self.significant] ** 2)))

    def worst(self) -> tuple[int, ...]:
        """Index of the gap that exceeds its tolerance most."""
        with np.errstate(all="ignore"):
            excess = np.where(self.significant, self.gap / np.maximum(self.tolerance, 1e-300), 0.0)
        excess = np.where(np.isnan(self.gap), np.inf, excess)
        return tuple(int(number) for number in np.unravel_index(int(excess.argmax()), excess.shape))


@np.errstate(invalid="ignore")
def comparison_of(
    gap: np.ndarray,
    size: np.ndarray | float,
    positions: np.ndarray,
    angle_rounding: np.ndarray,
    dtype: str,
    of_values: float = 1.0,
    rounded: np.ndarray | None = None,
) -> Comparison:
    """Compare gaps (n, channels) with the rounding of values of this size.

    Args:
        gap: How far each value is off, (n, channels).
        size: Magnitude of the numbers that each value was computed from.
        positions: (n,) or (n, axes).
        angle_rounding: How far float32 may put the angle of each channel off, in radians a step.
        dtype: The type that the values came in.
        of_values: Share of the rounding of a rotated vector that these values have, where they are narrow.
        rounded: How far rounding to their type puts the values that are meant, where they are known; (n, channels). Of
            slow pairs many values are almost the same, and all of them rounded the same way.
    """
    rounding = ROUNDING[dtype] * (of_values if dtype in NARROW_TYPES else 1.0)
    angle = farness(positions)[:, None] * angle_rounding
    significant = np.broadcast_to(angle <= SIGNIFICANT, gap.shape)
    sizes = np.broadcast_to(size, gap.shape)
    typical = np.inf
    if dtype in NARROW_TYPES and significant.any():
        share = (rounding * TYPICAL + angle) * sizes
        of_each = share if rounded is None else np.maximum(share, rounded + angle * sizes)
        typical = float(np.sqrt(np.mean(of_each[significant] ** 2)))
    return Comparison(gap, (rounding + angle) * sizes, significant, typical)


def farness(positions: np.ndarray) -> np.ndarray:
    """Magnitude of each row's position (n,), or of the largest of several coordinates (n, axes)."""
    size = np.abs(positions)
    return size if size.ndim == 1 else np.asarray(size.max(1))


def subsample(positions: np.ndarray) -> np.ndarray:
    """Rows for a first look: the first ones, and others farther and farther away."""
    order = np.argsort(farness(positions) if positions.ndim > 1 else positions, kind="stable")
    count = len(order)
    chosen = {*range(min(3, count)), *(round(count ** (step / SUBSAMPLE)) - 1 for step in range(1, SUBSAMPLE + 1))}
    return order[sorted(row for row in chosen if 0 <= row < count)]
