"""Divisors of the frequencies, found on the trained model itself: LongRoPE's idea, at a small size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

#: How far a step of the search goes, in natural logarithms of a divisor; and the most that a pair is slowed, of what
#: linear interpolation slows it.
STEP, MOST = 0.25, 2.0

Divisors = tuple[float, ...]


def search(
    starts: Sequence[Divisors], stretch: float, loss: Callable[[Divisors], float], candidates: int, seed: int
) -> Divisors:
    """The best of so many lists: the starts, then changes of the best one so far.

    As in LongRoPE (Ding et al. 2024, arXiv:2402.13753, §3), a slower pair is never slowed less than a faster one; the
    search there keeps a population, this one a single list.

    Example:
        >>> search([(1.0, 1.0)], 4.0, lambda divisors: abs(divisors[1] - 2), 200, 0)[1].__round__(1)
        2.0
    """
    rng = np.random.default_rng(seed)
    best, least = starts[0], float("inf")
    for index in range(candidates):
        tried = starts[index] if index < len(starts) else _changed(best, stretch, rng)
        found = loss(tried)
        if found < least:
            best, least = tried, found
    return best


def _changed(divisors: Divisors, stretch: float, rng: np.random.Generator) -> Divisors:
    moved = np.log(divisors) + rng.normal(0.0, STEP, len(divisors))
    rising = np.maximum.accumulate(np.clip(np.exp(moved), 1.0, MOST * stretch))
    return tuple(float(f"{each:.4g}") for each in rising)
