"""The mean of a few measurements with its Student-t interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from posenc.lab.statistics.values import finite_sample


@dataclass(frozen=True)
class Interval:
    """A mean and the ends of its interval. With one measurement there is no interval: both ends are NaN."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ±{self.high - self.mean:.3f}" if math.isfinite(self.low) else f"{self.mean:.3f}"


def student_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """mean ± t·s/√n with the quantile of Student's distribution of n-1 degrees of freedom (Student 1908, Biometrika 6).

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
