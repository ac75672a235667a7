"""Shifted positions: a sequence that starts anywhere."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_POSITION, checked
from posenc.positions.draws import generator, outside


def shifted(positions: Array, most: int, rng: np.random.Generator) -> Array:
    """Positions moved on by one whole number a row, drawn uniformly from 0 … most.

    Kiyono et al. 2021, arXiv:2109.05644 (SHAPE): in training alone, so that a model learns differences. Positions
    (*batch, n) of any library; result the same shape, integers as the widest signed ones.

    Raises:
        ValueError: Or TypeError naming the argument; a traced program is refused, which would repeat one draw for ever.

    Example:
        >>> shifted([[0, 1, 2], [0, 1, 2]], most=500, rng=np.random.default_rng(0)).tolist()
        [[426, 427, 428], [319, 320, 321]]
    """
    positions = outside(positions)
    most = validation.integer("most", most, 0, LARGEST_POSITION)
    generator(rng)
    lib, (_, greatest) = positions.lib, positions.bounds or (0, 0)
    limit = 2**31 if positions.integers else 2**24  # beyond it 32 bits wrap, or lose whole numbers
    if not lib.float64 and greatest + most >= limit:
        raise ValueError(
            f"most must keep positions below {limit} where there are no 64-bit numbers; got {most} for positions up to "
            f"{greatest}. Enable them (jax_enable_x64)."
        )
    moved = rng.integers(0, most, tuple(positions.array.shape[:-1]), endpoint=True)
    array = lib.signed(positions.array)
    return checked(array + lib.constant(moved, array.dtype)[..., None]).array
