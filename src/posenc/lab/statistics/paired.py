"""Differences paired by seed: how large, how certain, and how small a difference could have been seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from posenc.lab.statistics.interval import Interval, student_interval
from posenc.lab.statistics.values import finite_sample

#: Two-sided error rate of a verdict, and the chance with which the smallest visible effect would be seen.
LEVEL, POWER = 0.05, 0.8


@dataclass(frozen=True)
class PairedDifference:
    """First minus second, seed by seed.

    Args:
        p_value: Of the paired t test, two-sided.
        visible: The smallest mean difference that this test would have seen in four of five repetitions.
    """

    differences: tuple[float, ...]
    interval: Interval
    deviation: float
    p_value: float
    visible: float

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.interval.mean

    @property
    def standardised(self) -> float:
        """|mean| over the deviation: below 2, two encodings lie close."""
        if self.deviation == 0:
            return math.inf if self.mean else 0.0
        return abs(self.mean) / self.deviation


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, visible_level: float = LEVEL
) -> PairedDifference:
    """The paired t test of measurements of the same seeds in the same order, at least two, with a 95 % interval.

    Args:
        visible_level: The error rate that `visible` is for, smaller where the test is one of several. Equal differences
            in every pair have no spread: p is then 0, or 1 where they are all 0.

    Example:
        >>> difference = paired_difference([0.9, 0.8, 0.85], [0.5, 0.45, 0.5])
        >>> round(difference.mean, 3), round(difference.p_value, 4), round(difference.visible, 3)
        (0.367, 0.0021, 0.094)
    """
    from scipy.stats import t

    one, other = finite_sample("first", first), finite_sample("second", second)
    if len(one) != len(other) or len(one) < 2:
        raise ValueError(
            f"first and second must have one number for each seed, two or more; got {len(one)} and {len(other)}. Run "
            "the missing seeds."
        )
    gaps, count = one - other, len(one)
    deviation, mean = float(gaps.std(ddof=1)), float(gaps.mean())
    if deviation <= 1e-12 * max(1.0, abs(mean)):
        deviation, p_value = 0.0, 1.0 if mean == 0 else 0.0
    else:
        p_value = 2 * float(t.sf(abs(mean) / (deviation / math.sqrt(count)), count - 1))
    return PairedDifference(
        tuple(map(float, gaps)),
        student_interval(gaps.tolist(), 1 - LEVEL),
        deviation,
        p_value,
        smallest_visible(deviation, count, visible_level),
    )


def smallest_visible(deviation: float, count: int, level: float = LEVEL, power: float = POWER) -> float:
    """The mean difference that a two-sided paired t test of `count` pairs finds with probability `power`.

    From the noncentral t distribution (Cohen 1988, Statistical Power Analysis, chapter 2); a verdict in the wrong
    direction does not count as finding it.

    Example:
        >>> round(smallest_visible(1.0, 5), 3), round(smallest_visible(1.0, 8), 3)
        (1.682, 1.156)
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    if deviation == 0:
        return 0.0
    limit = float(t.ppf(1 - level / 2, count - 1))

    def lacking(shift: float) -> float:
        return float(nct.sf(limit, count - 1, shift)) - power

    highest = limit + 2
    while lacking(highest) < 0:
        highest *= 2
    return float(brentq(lacking, 0.0, highest)) * deviation / math.sqrt(count)
