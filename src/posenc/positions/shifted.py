"""Shifted positions: a sequence that starts anywhere."""

from __future__ import annotations

import numpy as np

from posenc import _array, _check
from posenc._array import Array
from posenc.phase import LARGEST_POSITION, checked
from posenc.positions.draws import generator, outside


def shifted(positions: Array, most: int, rng: np.random.Generator) -> Array:
    """Positions moved on by one whole number a row, drawn uniformly from 0 … most.

    Kiyono et al. 2021, arXiv:2109.05644 (SHAPE): in training alone, so that a model learns differences. Positions
    (*batch, n) of any library; result the same shape, integers as the widest signed ones. Raises ValueError or TypeError
    naming the argument; a traced program is refused, which would repeat one draw for ever.

    >>> shifted([[0, 1, 2], [0, 1, 2]], most=500, rng=np.random.default_rng(0)).tolist()
    [[426, 427, 428], [319, 320, 321]]
    """
    positions = outside(positions)
    most = _check.integer("most", most, 0, LARGEST_POSITION)
    generator(rng)
    moved = rng.integers(0, most, tuple(positions.shape[:-1]), endpoint=True)
    positions = _array.signed(positions)
    ends = _array.extremes(positions) or (0, 0)
    limit = 2**31 if _array.kind(positions) == "integer" else 2**24  # beyond it 32 bits wrap, or lose whole numbers
    if not _array.has_float64(positions) and ends[1] + most >= limit:
        raise ValueError(
            f"most must keep positions below {limit} where there are no 64-bit numbers; got {most} for positions up to "
            f"{ends[1]}. Enable them (jax_enable_x64)."
        )
    return checked(positions + _array.constant(moved, positions, positions.dtype)[..., None])
