"""Randomised positions: short sequences that see every position of long ones."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.positions.draws import generator, rows_of

LONGEST = 1 << 26


def randomised(length: int, longest: int, rng: np.random.Generator, *, rows: int | None = None) -> np.ndarray:
    """`length` positions drawn without replacement from 0 … longest-1, in increasing order.

    Every set is equally likely.

    Ruoss et al. 2023, arXiv:2305.16843. Drawn anew for each step of training; with `rows` each row has its own. Result
    (length,) or (rows, length), int64.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
        TypeError: A value breaks its rule; the message names the argument.

    Example:
        >>> randomised(4, longest=100, rng=np.random.default_rng(0)).tolist()
        [26, 50, 62, 82]
    """
    longest = validation.integer("longest", longest, 0, LONGEST)
    length = validation.integer("length", length, 0, longest)
    generator(rng)
    shape = rows_of(rows, length)
    if not shape:
        return _drawn(length, longest, rng)
    drawn = [_drawn(length, longest, rng) for _ in range(shape[0])]
    return np.stack(drawn) if drawn else np.empty((0, length), np.int64)


def _drawn(length: int, longest: int, rng: np.random.Generator) -> np.ndarray:
    if not length:  # which NumPy refuses to choose from nothing
        return np.empty(0, np.int64)
    return np.sort(rng.choice(longest, length, replace=False, shuffle=False).astype(np.int64))
