"""Measurements as an array, checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def finite_sample(name: str, values: Sequence[float]) -> np.ndarray:
    """At least one finite number, shape (n,)."""
    sample = np.asarray(values, np.float64)
    if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
        raise ValueError(
            f"{name} must be one or more finite numbers; got {list(values)!s:.80}. Leave out runs that "
            "diverged, and say that they did."
        )
    return sample
