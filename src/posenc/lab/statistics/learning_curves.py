"""What "faster" and "longer" mean, each as one number of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

Curve = Sequence[tuple[int, float]]


def steps_to(curve: Curve, threshold: float) -> float:
    """The first step from which the training loss stays at or below a threshold, infinity where it never does.

    Stays, not touches: a loss that falls below by chance and rises again has not reached it.

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
    """The mean training loss over all steps, where each point is the mean since the one before: lower is faster.

    Example:
        >>> area_under([(10, 4.0), (30, 1.0)])
        2.0
    """
    if not len(curve):
        raise ValueError("curve must have a point; got none. Train for more steps.")
    steps, losses = np.array(curve, np.float64).T
    return float(np.average(losses, weights=np.diff(steps, prepend=0.0)))


def effective_length(scores: Mapping[int, float], threshold: float, *, higher_is_better: bool = True) -> int:
    """The longest length up to which every tested length passes the threshold; 0 where the shortest does not.

    As RULER counts it (Hsieh et al. 2024, arXiv:2404.06654, §4), with a threshold that the caller states.

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
