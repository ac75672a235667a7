"""Random positions for training: shifted, jittered, drawn without replacement, skipped ahead."""

from __future__ import annotations

import math

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_POSITION, Positions, checked
from posenc.positions.sequences import LONGEST


def generator(rng: np.random.Generator) -> np.random.Generator:
    """Return the generator, or raise the error that asks for one: nothing here draws from a global state."""
    validation.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
    return rng


def rows_of(rows: int | None, length: int) -> tuple[int, ...]:
    """Return the leading shape (rows,) of `rows` rows of `length` tokens, () where `rows` is None."""
    shape = () if rows is None else (validation.integer("rows", rows, 0, 1 << 24),)
    validation.size("rows", length * (shape[0] if shape else 1))
    return shape


def outside(positions: Array) -> Positions:
    """Check that positions have a sequence axis and are not traced: a traced program would repeat one random draw."""
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


def shifted(positions: Array, most: int, rng: np.random.Generator) -> Array:
    """Move positions on by one whole number a row, drawn uniformly from 0 … most.

    In training alone, so that a model learns differences.

    Args:
        positions: (*batch, n), integers, float32 or float64.
        most: Largest shift.
        rng: Generator that shifts are drawn from.

    Returns:
        Positions of the same shape, integers as the widest signed ones.

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: A position would be out of range, or a traced program would repeat one draw for ever.

    References:
        Kiyono et al. 2021, arXiv:2109.05644 (SHAPE).

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


def augmented(
    positions: Array, rng: np.random.Generator, *, shift: float = 0.0, jitter: float = 0.0, scale: float = 1.0
) -> Array:
    """Augment positions at random: λ·(p + Δ + ε_p), with one shift Δ and one scale λ a row and one jitter ε_p a token.

    In training alone. With jitter at most half a step the order is kept.

    Args:
        positions: (*batch, n), integers, float32 or float64.
        rng: Generator that they are drawn from.
        shift: Δ is uniform in [-shift, shift].
        jitter: ε_p is uniform in [-jitter, jitter].
        scale: ln λ is uniform in [-ln scale, ln scale]; ≥ 1.

    Returns:
        Positions of the same shape, in the widest float.

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: A number is out of range, or a traced program would repeat one draw for ever.

    References:
        Likhomanenko et al. 2021, arXiv:2106.03143 (CAPE).

    Example:
        >>> augmented([0, 1, 2], np.random.default_rng(0), shift=5.0, jitter=0.5, scale=1.03).round(3)
        array([1.161, 1.946, 2.94 ])
    """
    positions = outside(positions)
    array, lib = positions.array, positions.lib
    shift = validation.real("shift", shift, 0.0, 1e12)
    jitter = validation.real("jitter", jitter, 0.0, 1e12)
    scale = validation.real("scale", scale, 1.0, 1e6)
    generator(rng)
    rows = (*array.shape[:-1], 1)
    moved = rng.uniform(-shift, shift, rows) + rng.uniform(-jitter, jitter, tuple(array.shape))
    stretched = np.exp(rng.uniform(-math.log(scale), math.log(scale), rows))
    delta, factor = (lib.constant(drawn, lib.real) for drawn in (moved, stretched))
    return checked((lib.widest(array) + delta) * factor).array


#: The largest number of positions that one row is drawn from.
MOST_CANDIDATES = 1 << 26


def randomised(length: int, longest: int, rng: np.random.Generator, *, rows: int | None = None) -> np.ndarray:
    """Draw `length` positions without replacement from 0 … longest-1, in increasing order; every set is equally likely.

    Drawn anew for each step of training, so that short sequences see every position of long ones.

    Args:
        length: Number of tokens.
        longest: Number of positions to draw from.
        rng: Generator that they are drawn from.
        rows: Number of rows, each with positions of its own; None for a single row without that axis.

    Returns:
        (length,) or (rows, length), int64.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `length` is above `longest`, or a number is out of range.

    References:
        Ruoss et al. 2023, arXiv:2305.16843.

    Example:
        >>> randomised(4, longest=100, rng=np.random.default_rng(0)).tolist()
        [26, 50, 62, 82]
    """
    longest = validation.integer("longest", longest, 0, MOST_CANDIDATES)
    length = validation.integer("length", length, 0, longest)
    generator(rng)
    shape = rows_of(rows, length)
    if not shape:
        return _drawn(length, longest, rng)
    drawn = [_drawn(length, longest, rng) for _ in range(shape[0])]
    return np.stack(drawn) if drawn else np.empty((0, length), np.int64)


def _drawn(length: int, longest: int, rng: np.random.Generator) -> np.ndarray:
    """Draw one row of `randomised`."""
    if not length:  # which NumPy refuses to choose from nothing
        return np.empty(0, np.int64)
    return np.sort(rng.choice(longest, length, replace=False, shuffle=False).astype(np.int64))


def random_floats(length: int, largest: float, rng: np.random.Generator, *, rows: int | None = None) -> np.ndarray:
    """Draw `length` real positions uniformly from 0 up to `largest`, in increasing order.

    Drawn anew for each step of training and in use alike: sequences of every length fill one range.

    Args:
        length: Number of tokens.
        largest: End of the range, above 0.
        rng: Generator that they are drawn from.
        rows: Number of rows, each with positions of its own; None for a single row without that axis.

    Returns:
        (length,) or (rows, length), float64.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is out of range.

    References:
        Shimizu et al. 2026, arXiv:2602.14050 (random float sampling).

    Example:
        >>> random_floats(3, largest=512.0, rng=np.random.default_rng(0)).round(2).tolist()
        [20.98, 138.13, 326.12]
    """
    length = validation.integer("length", length, 0, LONGEST)
    largest = validation.real("largest", largest, 0.0, 2.0**53, above=True)
    generator(rng)
    return np.sort(rng.uniform(0.0, largest, (*rows_of(rows, length), length)), -1)


def skip_wise(length: int, longest: int, rng: np.random.Generator, *, rows: int | None = None) -> np.ndarray:
    """Draw positions of a window of `length` tokens in two chunks, the second moved on, all below `longest`.

    As in the released code, the first chunk is 1 … (length+1)÷2 tokens long and starts at 0, the second follows after a
    gap of 0 … longest-length; both are drawn uniformly, for each row anew.

    Args:
        length: Number of tokens.
        longest: Length of the context that the window spans.
        rng: Generator that they are drawn from.
        rows: Number of rows, each with positions of its own; None for a single row without that axis.

    Returns:
        (length,) or (rows, length), int64.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `length` is above `longest`, or a number is out of range.

    References:
        Zhu et al. 2023, arXiv:2309.10400 (PoSE).

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
