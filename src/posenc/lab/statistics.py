"""Statistics of a comparison: intervals, paired differences, corrections and measures of learning curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

#: Two-sided error rate of a verdict, and the chance with which the smallest visible effect would be seen.
LEVEL, POWER = 0.05, 0.8
Curve = Sequence[tuple[int, float]]


def finite_sample(name: str, values: Sequence[float]) -> np.ndarray:
    """Measurements as an array of shape (n,).

    Args:
        name: What the message calls them.
        values: The measurements.

    Returns:
        float64 numbers.

    Raises:
        ValueError: There is no number, or one that is not finite.
    """
    sample = np.asarray(values, np.float64)
    if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
        raise ValueError(
            f"{name} must be one or more finite numbers; got {list(values)!s:.80}. Leave out runs that "
            "diverged, and say that they did."
        )
    return sample


@dataclass(frozen=True)
class Interval:
    """A mean and the ends of its interval. With one measurement there is no interval: both ends are NaN."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ±{self.high - self.mean:.3f}" if math.isfinite(self.low) else f"{self.mean:.3f}"


def student_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Student-t interval of a mean: mean ± t·s/√n with n-1 degrees of freedom (Student 1908, Biometrika 6).

    Args:
        values: Measurements.
        level: Of confidence.

    Returns:
        The mean with its interval.

    Raises:
        ValueError: There is no number, or one that is not finite.

    Example:
        >>> print(student_interval([1.0, 2.0, 3.0]))
        2.000 ±2.484
        >>> str(student_interval([0.25]))
        '0.250'
    """
    from scipy.stats import t

    sample = finite_sample("values", values)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, math.nan, math.nan)
    half = float(t.ppf(0.5 + level / 2, len(sample) - 1)) * float(sample.std(ddof=1)) / math.sqrt(len(sample))
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class PairedDifference:
    """First minus second, seed by seed.

    Attributes:
        differences: Of each seed.
        interval: Of their mean, at 95 %.
        deviation: Their standard deviation.
        p_value: Of the paired t test, two-sided; of the sign test where the differences have no spread.
        visible: The smallest mean difference that this test would have seen in four of five repetitions; NaN where the
            differences have no spread, which says nothing about other seeds.
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
        """|mean| over the deviation. Below 2, two encodings lie close."""
        if self.deviation == 0:
            return math.inf if self.mean else 0.0
        return abs(self.mean) / self.deviation


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, visible_level: float = LEVEL, least_standardised: float = 0.0
) -> PairedDifference:
    """Paired t test of measurements of the same seeds in the same order, with a 95 % interval.

    Differences that are equal in every pair have no spread, so Student's t does not exist. p is then that of the sign
    test, 2·2⁻ⁿ for n pairs, or 1 where all differences are 0.

    Args:
        first: At least two measurements.
        second: As many.
        visible_level: The error rate that `visible` is for, smaller where the test is one of several.
        least_standardised: The least mean in standard deviations that counts as seen, for `visible`.

    Returns:
        The difference.

    Raises:
        ValueError: There are fewer than two pairs, or a number is not finite.

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
        deviation, p_value = 0.0, 1.0 if mean == 0 else 2.0 ** (1 - count)
    else:
        p_value = 2 * float(t.sf(abs(mean) / (deviation / math.sqrt(count)), count - 1))
    return PairedDifference(
        tuple(map(float, gaps)),
        student_interval(gaps.tolist(), 1 - LEVEL),
        deviation,
        p_value,
        smallest_visible(deviation, count, visible_level, least_standardised=least_standardised),
    )


def smallest_visible(
    deviation: float, count: int, level: float = LEVEL, power: float = POWER, *, least_standardised: float = 0.0
) -> float:
    """Mean difference that a two-sided paired t test of `count` pairs finds with probability `power`.

    From the noncentral t distribution (Cohen 1988, Statistical Power Analysis, chapter 2); a verdict in the wrong
    direction does not count as finding it. A rule that asks in addition for a mean of so many standard deviations asks
    for t ≥ least_standardised·√count.

    Args:
        deviation: Standard deviation of the differences.
        count: How many pairs.
        level: Two-sided error rate.
        power: Probability of finding it.
        least_standardised: The least mean in standard deviations of the sample that counts as found.

    Returns:
        The difference; NaN where the deviation is 0.

    Example:
        >>> round(smallest_visible(1.0, 5), 3), round(smallest_visible(1.0, 8), 3)
        (1.682, 1.156)
        >>> round(smallest_visible(1.0, 5, least_standardised=2.0), 3)
        2.56
    """
    if deviation == 0:
        return math.nan
    return _visible_deviations(count, level, power, least_standardised) * deviation


@lru_cache(maxsize=256)
def _visible_deviations(count: int, level: float, power: float, least_standardised: float) -> float:
    """Smallest visible mean in standard deviations; cached, since all pairs of a report need only a few."""
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    limit = max(float(t.ppf(1 - level / 2, count - 1)), least_standardised * math.sqrt(count))

    def lacking(shift: float) -> float:
        return float(nct.sf(limit, count - 1, shift)) - power

    highest = limit + 2
    while lacking(highest) < 0:
        highest *= 2
    return float(brentq(lacking, 0.0, highest)) / math.sqrt(count)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p values by Holm's step-down method (Holm 1979, Scandinavian Journal of Statistics 6).

    The k-th smallest of m is multiplied by m - k + 1, and none is smaller than one before it. Rejecting where the
    adjusted value is below a level keeps the chance of any false rejection below that level.

    Args:
        p_values: Of all questions asked of a set of runs.

    Returns:
        The adjusted values, in their order.

    Raises:
        ValueError: A value is not finite.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    if not len(p_values):
        return ()
    sample = finite_sample("p_values", p_values)
    order = np.argsort(sample, kind="stable")
    scaled = np.minimum(1.0, sample[order] * np.arange(len(sample), 0, -1))
    adjusted = np.empty_like(sample)
    adjusted[order] = np.maximum.accumulate(scaled)
    return tuple(map(float, adjusted))


def steps_to(curve: Curve, threshold: float) -> float:
    """First step from which the training loss stays at or below a threshold.

    It must stay there: a loss that falls below by chance and rises again has not reached it.

    Args:
        curve: (step, loss).
        threshold: In nats.

    Returns:
        The step; infinity where the loss never stays below.

    Example:
        >>> steps_to([(10, 2.0), (20, 0.9), (30, 1.2), (40, 0.8), (50, 0.7)], 1.0)
        40.0
    """
    reached = math.inf
    for step, loss in reversed(curve):
        if not loss <= threshold:
            break
        reached = float(step)
    return reached


def area_under(curve: Curve) -> float:
    """Mean training loss over all steps: lower is faster.

    Args:
        curve: (step, mean loss since the point before).

    Returns:
        The mean.

    Raises:
        ValueError: The curve is empty.

    Example:
        >>> area_under([(10, 4.0), (30, 1.0)])
        2.0
    """
    if not len(curve):
        raise ValueError("curve must have a point; got none. Train for more steps.")
    steps, losses = np.array(curve, np.float64).T
    return float(np.average(losses, weights=np.diff(steps, prepend=0.0)))


def effective_length(scores: Mapping[int, float], threshold: float, *, higher_is_better: bool = True) -> int:
    """Longest length up to which every tested length passes a threshold, 0 where the shortest does not.

    As RULER counts it (Hsieh et al. 2024, arXiv:2404.06654, §4), with a threshold that the caller states.

    Args:
        scores: By length.
        threshold: That passes.
        higher_is_better: Whether scores must be at least the threshold, or at most.

    Returns:
        A tested length, or 0.

    Example:
        >>> effective_length({32: 0.99, 64: 0.9, 128: 0.4, 256: 0.95}, 0.85)
        64
    """
    longest = 0
    for length in sorted(scores):
        passes = scores[length] >= threshold if higher_is_better else scores[length] <= threshold
        if not passes:
            break
        longest = length
    return longest
