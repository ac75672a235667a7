"""Cosine and sine of position × frequency: exact by default, or what released models compute."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

from posenc import _array, _check
from posenc._array import Array
from posenc.phase.fixed_point import checked, guard, phase, turn_rates
from posenc.phase.frequencies import Frequencies

Numerics = Literal["exact", "float32"]

#: Entries of a table that are made together.
BLOCK = 1 << 16


def cosine_sine(
    positions: Array, frequencies: Frequencies, *, numerics: str = "exact", dtype: Any = None
) -> tuple[Array, Array]:
    """cos(p·ω) and sin(p·ω) for every position p and frequency ω.

    Shapes: positions (*batch, n), results (*batch, n, pairs). With `numerics="exact"` a float32 result is the correctly
    rounded cosine and sine of the exact product, for every |p| ≤ 2^53, and float64 is good to 3.5 ulp. With `"float32"`
    frequencies, angle and function are float32, as in released models, and bit-equal to them under PyTorch.
    """
    _check.choice("numerics", numerics, ("exact", "float32"))
    _check.instance("frequencies", frequencies, Frequencies, "a record of frequencies")
    positions = checked(positions)
    dtype = _array.result_dtype(dtype, positions)
    if numerics == "float32":
        single = _array.dtype_of("float32", positions)
        angle = frequencies.angle32(_array.astype(positions, single) + guard(positions, single))
        xp = _array.namespace(angle)
        return _array.astype(xp.cos(angle), dtype), _array.astype(xp.sin(angle), dtype)
    if _array.library(positions) == "jax" or not _array.concrete(positions):
        return _exact(positions, frequencies, dtype)
    return _in_blocks(positions, frequencies, dtype)


def cosine_sine_of_sum(
    places: Sequence[Array], frequencies: Sequence[Frequencies], *, dtype: Any = None
) -> tuple[Array, Array]:
    """cos and sin of Σ_a p_a·ω_a, for coordinates (*batch, n) and, for each, as many frequencies; (*batch, n, pairs).

    The phases are added in fixed point, so the result is as exact as that of `cosine_sine`.
    """
    places = tuple(checked(place) for place in places)
    dtype = _array.result_dtype(dtype, places[0])
    parts = [phase(place, own) for place, own in zip(places, frequencies, strict=True)]
    quarter, turns = functools.reduce(operator.add, parts).quarters()
    angle = _radians(turns)
    for place, own in zip(places, frequencies, strict=True):
        angle = angle + _slope(turns, place, own)
    cosine, sine = _turned(quarter, angle)
    return _array.astype(cosine, dtype), _array.astype(sine, dtype)


def product_dtype(numerics: str, like: Array) -> Any:
    """In what waves are multiplied by a factor: rounded once from the widest floats, or in float32 as released models do."""
    return _array.widest_dtype(like) if numerics == "exact" else _array.dtype_of("float32", like)


def _in_blocks(positions: Array, frequencies: Frequencies, dtype: Any) -> tuple[Array, Array]:
    """A long table made some rows at a time, so that what is between its limbs and its waves stays in the cache."""
    rows, flat = max(1, BLOCK // frequencies.pairs), positions.reshape(-1)
    if len(flat) <= rows:
        return _exact(positions, frequencies, dtype)
    xp = _array.namespace(positions)
    blocks = [_exact(flat[start : start + rows], frequencies, dtype) for start in range(0, len(flat), rows)]
    shape = (*positions.shape, frequencies.pairs)
    return tuple(xp.concatenate(parts).reshape(shape) for parts in zip(*blocks, strict=True))


def _exact(positions: Array, frequencies: Frequencies, dtype: Any) -> tuple[Array, Array]:
    quarter, turns = phase(positions, frequencies).quarters()
    cosine, sine = _turned(quarter, _angle(turns, positions, frequencies))
    return _array.astype(cosine, dtype), _array.astype(sine, dtype)


def _angle(turns: Array, positions: Array, frequencies: Frequencies) -> Array:
    """Radians of a fraction of a turn, with the derivative that fixed point does not carry."""
    return _radians(turns) + _slope(turns, positions, frequencies)


def _slope(turns: Array, positions: Array, frequencies: Frequencies) -> Array | float:
    """Zero, with the derivative of the angle by the positions."""
    if _array.kind(positions) != "float" or _array.library(positions) == "numpy":
        return 0.0
    rates = _array.constant(turn_rates(frequencies) * (2 * math.pi), turns, turns.dtype)
    still = _array.astype(positions - _array.detach(positions), turns.dtype)
    return still[..., None] * rates


def _radians(turns: Array) -> Array:
    """Radians of a small fraction of a turn."""
    if _array.dtype_name(turns.dtype) == "float64":
        return turns * (2 * math.pi)
    # 2π in two parts, the first of 8 bits, times the first 12 bits of the turn: nothing is lost in float32.
    first = _array.namespace(turns).round(turns * 4096.0) / 4096.0
    return first * 6.28125 + (first * (2 * math.pi - 6.28125) + (turns - first) * (2 * math.pi))


def _turned(quarter: Array, angle: Array) -> tuple[Array, Array]:
    """Cosine and sine of a small angle and a number of quarter turns: each keeps its relative precision at its zeros."""
    xp = _array.namespace(angle)
    cosine, sine = xp.cos(angle), xp.sin(angle)
    # As cos(a + q·π/2) = A·cos a - B·sin a with A, B in -1, 0, 1: exact, and no branch.
    opposite = _array.astype(quarter, angle.dtype) - 2.0
    size = xp.abs(opposite)
    a, b = size - 1.0, opposite * (size - 2.0)
    return cosine * a - sine * b, sine * a + cosine * b
