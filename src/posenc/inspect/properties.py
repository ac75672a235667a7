"""Uniqueness, closest pair of positions and range of an encoding, as figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Params
from posenc.inspect.closest import closest
from posenc.inspect.rounding import to_bfloat16

DTYPES = ("float64", "float32", "bfloat16")


@dataclass(frozen=True)
class Properties(text_lines.Lines):
    """What a table of `count` positions from 0 shows in one dtype.

    Args:
        distinct: Rows that no earlier row equals.
        closest: The nearest two positions, and `distance` between their rows.
        ties: How many pairs are as near.
        spacing: Steps that separate each of those, 0 where they differ.
        low: Least and greatest value.
        high: Least and greatest value.
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
    """Figures of the rows for positions 0 … count-1, computed in float64 or float32, or rounded to bfloat16.

    What is learned is drawn from `seed` where `params` is left out. TypeError for an encoding that does not add.

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
    nearest = closest(rows)
    if nearest is None:  # never: there are two rows at least
        raise ValueError(f"count must be at least 2; got {count}. Give more positions.")
    return Properties(
        encoding,
        count,
        dtype,
        len(np.unique(rows, axis=0)),
        nearest.pair,
        nearest.distance,
        nearest.ties,
        nearest.spacing,
        float(rows.min()),
        float(rows.max()),
        float(np.linalg.norm(np.diff(rows, axis=0), axis=1).max()),
    )


def rows_in_dtype(
    encoding: AdditiveEncoding, count: int, dtype: str, *, params: Params | None = None, seed: int = 0
) -> np.ndarray:
    """The table of positions 0 … count-1 as its dtype holds it, as float64 numbers; shape (count, width)."""
    validation.choice("dtype", dtype, DTYPES)
    validation.size("count", count * encoding.width)
    if params is None and encoding.shapes:
        params = encoding.init(np.random.default_rng(validation.integer("seed", seed, 0)))
    rows = np.asarray(
        encoding.embed(np.arange(count), params, dtype=np.dtype("float64" if dtype == "float64" else "float32"))
    )
    return np.asarray(to_bfloat16(rows) if dtype == "bfloat16" else rows, dtype=np.float64)
