"""The two rows of a table that are nearest to each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Rows compared with all others at once: bounds the memory, not the result.
BLOCK = 256
#: Distances that differ by less than this, relative, count as equal: rounding of the rows moves them by less.
EQUAL = 1e-9


@dataclass(frozen=True)
class Closest:
    """The nearest two rows.

    Args:
        pair: The first of them by row number.
        distance: Euclidean.
        ties: How many pairs are as near, this one included.
        spacing: The difference of row numbers that all of these pairs share; 0 where they share none.
    """

    pair: tuple[int, int]
    distance: float
    ties: int
    spacing: int


def closest(rows: np.ndarray) -> Closest | None:
    """The nearest pair of rows (n, d), exact although found by products; None for fewer than two rows.

    Products find candidates, a block of rows against all others at a time; the candidates' distances are then taken as
    differences, which lose nothing to cancellation.
    """
    rows = np.asarray(rows, dtype=np.float64)
    if len(rows) < 2:
        return None
    best, pairs = np.inf, np.empty((0, 2), dtype=np.int64)
    squares = (rows**2).sum(axis=1)
    # A product of d terms is off by at most d units of rounding of the squares that cancel in it.
    tolerance = 8 * (rows.shape[1] + 2) * np.finfo(np.float64).eps * float(squares.max())
    for start in range(0, len(rows), BLOCK):
        estimate = squares[start : start + BLOCK, None] + squares[None, :] - 2 * rows[start : start + BLOCK] @ rows.T
        estimate[np.tril_indices(len(estimate), start, len(rows))] = np.inf
        nearest = min(best**2, max(float(estimate.min()), 0.0) + tolerance)
        limit = nearest * (1 + 2 * EQUAL) + tolerance
        candidates = np.argwhere(estimate <= limit) + np.array([start, 0])
        best, pairs = _nearest(rows, candidates, best, pairs)
    spans = pairs[:, 1] - pairs[:, 0]
    spacing = int(spans[0]) if len(spans) > 1 and (spans == spans[0]).all() else 0
    return Closest((int(pairs[0, 0]), int(pairs[0, 1])), float(best), len(pairs), spacing)


def _nearest(rows: np.ndarray, candidates: np.ndarray, best: float, pairs: np.ndarray) -> tuple[float, np.ndarray]:
    """The least exact distance so far, with all pairs that have it."""
    size = max(1, (1 << 22) // rows.shape[1])
    for start in range(0, len(candidates), size):
        some = candidates[start : start + size]
        distances = np.linalg.norm(rows[some[:, 0]] - rows[some[:, 1]], axis=1)
        least = float(distances.min())
        if least < best * (1 - EQUAL):
            pairs = pairs[:0]
        best = min(best, least)
        pairs = np.concatenate([pairs, some[distances <= best * (1 + EQUAL)]])
    return best, pairs
