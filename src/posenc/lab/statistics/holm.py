"""Several questions asked of one set of runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posenc.lab.statistics.values import finite_sample


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """p values adjusted by Holm's step-down method (Holm 1979, Scandinavian Journal of Statistics 6), in their order.

    The k-th smallest of m is multiplied by m - k + 1, and none is smaller than one before it. Rejecting where the
    adjusted value is below a level keeps the chance of any false rejection below that level.

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
