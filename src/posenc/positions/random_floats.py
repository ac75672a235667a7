"""Random real positions: sequences of every length fill one range."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.positions.draws import generator, rows_of
from posenc.positions.sequences import LONGEST


def random_floats(length: int, largest: float, rng: np.random.Generator, *, rows: int | None = None) -> np.ndarray:
    """`length` real positions drawn uniformly from 0 up to `largest`, in increasing order.

    Shimizu et al. 2026, arXiv:2602.14050 (random float sampling): positions that no table of whole numbers limits,
    drawn anew for each step of training and in use alike. With `rows` each row has its own.

    Result (length,) or (rows, length), float64.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
        TypeError: A value breaks its rule; the message names the argument.

    Example:
        >>> random_floats(3, largest=512.0, rng=np.random.default_rng(0)).round(2).tolist()
        [20.98, 138.13, 326.12]
    """
    length = validation.integer("length", length, 0, LONGEST)
    largest = validation.real("largest", largest, 0.0, 2.0**53, above=True)
    generator(rng)
    return np.sort(rng.uniform(0.0, largest, (*rows_of(rows, length), length)), -1)
