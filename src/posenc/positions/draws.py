"""What every random assignment of positions asks for: a generator, and a place outside traced programs."""

from __future__ import annotations

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, checked


def generator(rng: np.random.Generator) -> np.random.Generator:
    """The generator, or the error that asks for one: nothing here draws from a global state."""
    validation.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
    return rng


def rows_of(rows: int | None, length: int) -> tuple[int, ...]:
    """The leading shape of so many rows of a length; () for None."""
    shape = () if rows is None else (validation.integer("rows", rows, 0, 1 << 24),)
    validation.size("rows", length * (shape[0] if shape else 1))
    return shape


def outside(positions: Array) -> Positions:
    """Positions with a sequence axis, not inside a traced program, where one draw would be repeated for ever."""
    placed = checked(positions)
    array, lib = placed.array, placed.lib
    if array.ndim < 1:
        raise ValueError(f"positions must have a sequence axis; got shape {tuple(array.shape)}. Give a list of them.")
    if lib.compiling() or (lib.name == "jax" and not lib.concrete(array)):
        raise ValueError(
            "positions must be drawn outside a compiled or traced program, which would repeat the same draw at every "
            "call; got traced positions. Draw first and pass the result in."
        )
    return placed
