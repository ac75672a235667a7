"""Skip-wise positions: a short window that spans a long context."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.positions.draws import generator, rows_of
from posenc.positions.sequences import LONGEST


def skip_wise(length: int, longest: int, rng: np.random.Generator, *, rows: int | None = None) -> np.ndarray:
    """Positions of a window of `length` tokens in two chunks, the second moved on, all below `longest`.

    Zhu et al. 2023, arXiv:2309.10400 (PoSE), as in its released code: the first chunk is 1 … (length+1)÷2 tokens long
    and starts at 0, the second follows after a gap of 0 … longest-length; both are drawn uniformly, for each row anew.

    Result (length,) or (rows, length), int64.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
        TypeError: A value breaks its rule; the message names the argument.

    Example:
        >>> skip_wise(6, longest=1_000, rng=np.random.default_rng(0)).tolist()
        [0, 1, 2, 636, 637, 638]
    """
    longest = validation.integer("longest", longest, 1, LONGEST)
    length = validation.integer("length", length, 1, longest)
    generator(rng)
    shape = rows_of(rows, length)
    first = rng.integers(1, (length + 1) // 2, shape, endpoint=True)
    gap = rng.integers(0, longest - length, shape, endpoint=True)
    index = np.arange(length, dtype=np.int64)
    return index + np.where(index < np.asarray(first)[..., None], 0, np.asarray(gap)[..., None])
