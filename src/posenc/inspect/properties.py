"""Uniqueness, closest pair of positions and range of an encoding, as figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Params
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.rounding import to_bfloat16

#: Rows compared with all others at once: bounds the memory, not the result.
BLOCK = 256
#: Distances that differ by less than this, relative, count as equal: rounding of the rows moves them by less.
EQUAL = 1e-9


class Closest(NamedTuple):
    """The nearest two rows.

    Attributes:
        pair: The first such pair by row number.
        distance: Euclidean distance.
        ties: How many pairs are as near, this one included.
        spacing: Difference of row numbers that all of these pairs share; 0 where they share none.
    """

    pair: tuple[int, int]
    distance: float
    ties: int
    spacing: int


def closest(rows: np.ndarray) -> Closest:
    """Find the nearest two of n ≥ 2 rows, (n, d), by Euclidean distance, free of cancellation errors.

    Products find candidates, a block of rows against all others at a time; the candidates' distances are then taken as
    differences, which lose nothing to cancellation.
    """
    rows = np.asarray(rows, dtype=np.float64)
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
    """Update the smallest distance and the pairs that attain it with exact distances of candidate pairs."""
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


DTYPES = ("float64", "float32", "bfloat16")


@dataclass(frozen=True)
class Properties(text_lines.Lines):
    """Uniqueness, closest pair, range and step size of an encoding's rows for positions 0 … count-1 in one dtype.

    Attributes:
        encoding: The encoding.
        count: How many positions.
        dtype: "float64", "float32" or "bfloat16".
        distinct: Rows that no earlier row equals.
        closest: The nearest two positions.
        distance: Euclidean distance between their rows.
        ties: How many pairs are as near.
        spacing: Steps between each of these pairs, 0 where they differ.
        low: Least value.
        high: Greatest value.
        step: Largest distance between neighbours, which smoothness keeps small.
    """

    encoding: AdditiveEncoding
    count: int
    dtype: str
    distinct: int
    closest: tuple[int, int]
    distance: float
    ties: int
    spacing: int
    low: float
    high: float
    step: float

    @property
    def pair(self) -> str:
        """The closest pair in words."""
        if self.spacing:
            return f"any two {self.spacing} apart"
        more = f", first of {self.ties:,}" if self.ties > 1 else ""
        return f"{self.closest[0]} and {self.closest[1]}{more}"

    def lines(self) -> list[str]:
        """Return the measured figures as text, one line each."""
        return [
            f"{text_lines.short(self.encoding)}, positions 0 to {self.count - 1}, {self.dtype}",
            f"distinct rows          {self.distinct:,} of {self.count:,}",
            f"closest positions      {self.pair}: {self.distance:.3g}",
            f"range                  {text_lines.number(self.low)} to {text_lines.number(self.high)}",
            f"largest step           {text_lines.number(self.step, 4)}",
        ]


def properties(
    encoding: AdditiveEncoding,
    count: int = 1001,
    dtype: str = "float64",
    *,
    params: Params | None = None,
    seed: int = 0,
) -> Properties:
    """Measure uniqueness, closest pair, range and largest step of the rows for positions 0 … count-1.

    Args:
        encoding: An encoding that adds, with one axis.
        count: How many positions, from 2 to 131,072.
        dtype: Computed in "float64" or "float32", or rounded to "bfloat16".
        params: Learned parameters; drawn from `seed` if left out.
        seed: Seed of the parameters.

    Returns:
        The figures.

    Raises:
        TypeError: `encoding` does not add.
        ValueError: An argument breaks its rule; the message names it.

    Example:
        >>> from posenc import Sinusoidal
        >>> figures = properties(Sinusoidal(dim=2))
        >>> figures.pair, round(figures.distance, 7)
        ('any two 710 apart', 6.03e-05)
    """
    validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds")
    validation.one_axis("encoding", encoding)
    count = validation.integer("count", count, 2, 1 << 17)
    rows = rows_in_dtype(encoding, count, dtype, params=params, seed=seed)
    distinct, step = len(np.unique(rows, axis=0)), float(np.linalg.norm(np.diff(rows, axis=0), axis=1).max())
    low, high = float(rows.min()), float(rows.max())
    return Properties(encoding, count, dtype, distinct, *closest(rows), low, high, step)


def rows_in_dtype(
    encoding: AdditiveEncoding, count: int, dtype: str, *, params: Params | None = None, seed: int = 0
) -> np.ndarray:
    """Compute the rows of positions 0 … count-1 in a dtype, and return them as float64, (count, width)."""
    validation.choice("dtype", dtype, DTYPES)
    validation.size("count", count * encoding.width)
    computed = np.dtype("float64" if dtype == "float64" else "float32")
    rows = np.asarray(encoding.embed(np.arange(count), drawn_params(encoding, params, seed), dtype=computed))
    return np.asarray(to_bfloat16(rows) if dtype == "bfloat16" else rows, dtype=np.float64)
