"""Heads whose numbers stand in the place of others, found by the nearest."""

from __future__ import annotations

import numpy as np


def nearest_heads(expected: np.ndarray, shown: np.ndarray) -> tuple[int, ...]:
    """For every row of numbers that are shown the expected row that is nearest; () where that is no permutation.

    Args:
        expected: (heads, numbers).
        shown: (heads, numbers).

    Example:
        >>> nearest_heads(np.eye(3), np.eye(3)[[2, 0, 1]])
        (2, 0, 1)
    """
    nearest = (shown @ expected.T - 0.5 * (expected * expected).sum(1)).argmax(1)
    return tuple(nearest.tolist()) if len(set(nearest.tolist())) == len(nearest) else ()
