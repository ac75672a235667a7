"""Order of heads read off by matching each head's numbers to the nearest expected ones."""

from __future__ import annotations

import numpy as np


def nearest_heads(expected: np.ndarray, shown: np.ndarray) -> tuple[int, ...]:
    """Match each shown row to its nearest expected row: their indices, or () where they are no permutation.

    Args:
        expected: (heads, numbers).
        shown: (heads, numbers).

    Example:
        >>> nearest_heads(np.eye(3), np.eye(3)[[2, 0, 1]])
        (2, 0, 1)
    """
    nearest = (shown @ expected.T - 0.5 * (expected * expected).sum(1)).argmax(1)
    return tuple(nearest.tolist()) if len(set(nearest.tolist())) == len(nearest) else ()
