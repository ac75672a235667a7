"""Cosine and sine of position × frequency: exact by default, or what released models compute."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions, checked
from posenc.phase.fixed_point import phase_of, revolutions_per_step
from posenc.phase.frequencies import Frequencies

Numerics = Literal["exact", "float32"]
NUMERICS = ("exact", "float32")

#: Entries of a table that are made together: what lies between position and result stays in the second cache.
BLOCK = 1 << 13


def cosine_sine(
    positions: Array | Positions, frequencies: Frequencies, *, numerics: str = "exact", dtype: Any = None
) -> tuple[Array, Array]:
    """Cosine and sine of position × frequency, cos(p·ω) and sin(p·ω), for every position p and frequency ω.

    Args:
        positions: (*batch, n), integers, float32 or float64 of magnitude at most 2^53.
        frequencies: Frequencies of the pairs, radians a step.
        numerics: "exact": a float32 result is the correctly rounded cosine and sine of the exact product, and float64
            is good to 3.5 ulp. "float32": frequencies, angle and function are float32, as in released models, and
            bit-equal to them under PyTorch.
        dtype: Of the results; None is float64 in NumPy and float32 in PyTorch and JAX.

    Returns:
        Cosines and sines, (*batch, n, pairs) each.

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: Positions are out of range, or `numerics` is another word.
    """
    validation.choice("numerics", numerics, NUMERICS)
    validation.instance("frequencies", frequencies, Frequencies, "a record of frequencies")
    positions = checked(positions)
    return cos_sin(positions, frequencies, positions.lib.result_dtype(dtype), numerics)


def cos_sin(positions: Positions, frequencies: Frequencies, dtype: Any, numerics: str = "exact") -> tuple[Array, Array]:
    """Compute `cosine_sine` of positions that have been checked, in a dtype that their library has."""
    lib = positions.lib
    if numerics == "float32":
        single = lib.xp.float32
        angle = frequencies.angle32(lib.astype(positions.array, single) + positions.guard(single), lib)
        return lib.astype(lib.xp.cos(angle), dtype), lib.astype(lib.xp.sin(angle), dtype)
    if lib.name == "jax" or not positions.readable:
        return _exact(positions, frequencies, dtype)
    return _in_blocks(positions, frequencies, dtype)


def cos_sin_of_sum(parts: Sequence[Positions], frequencies: Sequence[Frequencies], dtype: Any) -> tuple[Array, Array]:
    """Cosine and sine of Σ_a p_a·ω_a, for coordinates (*batch, n) and as many frequencies for each; (*batch, n, pairs).

    The phases are added in fixed point, so the result is as exact as that of `cosine_sine`.
    """
    lib = parts[0].lib
    phases = [phase_of(positions, frequency) for positions, frequency in zip(parts, frequencies, strict=True)]
    quarter, rest = functools.reduce(operator.add, phases).quarters()
    angle = radians(rest, lib)
    for positions, frequency in zip(parts, frequencies, strict=True):
        angle = _with_slope(angle, positions, frequency)
    cosine, sine = rotated_by_quarters(quarter, angle, lib)
    return lib.astype(cosine, dtype), lib.astype(sine, dtype)


def product_dtype(numerics: str, lib: Library) -> Any:
    """Dtype in which cos and sin are multiplied by a factor: the widest float, or float32 as released models do."""
    return lib.real if numerics == "exact" else lib.xp.float32


def _in_blocks(positions: Positions, frequencies: Frequencies, dtype: Any) -> tuple[Array, Array]:
    """Make a long table a block of rows at a time, so that intermediate arrays stay in the processor's cache."""
    rows, shape = max(1, BLOCK // frequencies.pairs), positions.array.shape
    count = math.prod(shape)
    if count <= rows:
        return _block(positions, frequencies, dtype)
    flat, width = positions.with_array(positions.array.reshape(-1)), frequencies.pairs
    cosine, sine = (positions.lib.empty((count, width), dtype) for _ in range(2))
    for start in range(0, count, rows):
        block = slice(start, start + rows)
        cosine[block], sine[block] = _block(flat.part(block), frequencies, dtype)
    return cosine.reshape((*shape, width)), sine.reshape((*shape, width))


def _block(positions: Positions, frequencies: Frequencies, dtype: Any) -> tuple[Array, Array]:
    """Exact cosine and sine of a few positions that can be read, by NumPy where that costs less."""
    lib, here = positions.lib, short_on_host(positions, frequencies.pairs)
    if here is positions:
        return _exact(positions, frequencies, dtype)
    cosine, sine = _exact(here, frequencies, here.lib.real)
    return lib.astype(lib.constant(cosine), dtype), lib.astype(lib.constant(sine), dtype)


def short_on_host(positions: Positions, width: int) -> Positions:
    """Move integer positions of a short PyTorch table to NumPy, whose calls cost a third; return others unchanged.

    Args:
        positions: Positions that have been checked.
        width: Numbers that are made of each.

    Returns:
        The same positions; as NumPy's they are without their documents.
    """
    lib = positions.lib
    if lib.name != "torch" or not (positions.integers and positions.readable):
        return positions
    # A trace would hold the result for a constant, and torch.func wraps even plain tensors, so that NumPy reads none.
    # Compiled code, where lengths may be symbols, reads nothing.
    traced = lib.xp.jit.is_tracing() or lib.xp._C._are_functorch_transforms_active()
    if traced or not 0 < math.prod(positions.array.shape) * width <= BLOCK:
        return positions
    array = arrays.to_numpy(positions.array)
    return Positions(array, arrays.library(array), True, True, positions.bounds)


def _exact(positions: Positions, frequencies: Frequencies, dtype: Any) -> tuple[Array, Array]:
    """Exact cosine and sine of all positions at once."""
    quarter, rest = phase_of(positions, frequencies).quarters()
    lib = positions.lib
    cosine, sine = rotated_by_quarters(quarter, _with_slope(radians(rest, lib), positions, frequencies), lib)
    return (cosine, sine) if cosine.dtype == dtype else (lib.astype(cosine, dtype), lib.astype(sine, dtype))


def _with_slope(angle: Array, positions: Positions, frequencies: Frequencies) -> Array:
    """Add 0 to an angle such that its gradient reaches the positions, which fixed point does not carry."""
    lib = positions.lib
    if lib.name == "numpy" or positions.integers:
        return angle
    slopes = lib.constant(revolutions_per_step(frequencies) * (2 * math.pi), angle.dtype)
    zero = lib.astype(positions.array - lib.detach(positions.array), angle.dtype)
    return angle + zero[..., None] * slopes


def radians(quarters: Array, lib: Library) -> Array:
    """Convert quarter turns to radians, to full precision for small angles."""
    if lib.float64:
        return quarters * (math.pi / 2)
    # π/2 in two parts, the first of 8 bits, times the first 10 bits of the quarters: nothing is lost in float32.
    first = lib.xp.round(quarters * 1024.0) / 1024.0
    return first * 1.5703125 + (first * (math.pi / 2 - 1.5703125) + (quarters - first) * (math.pi / 2))


def rotated_by_quarters(quarter: Array, angle: Array, lib: Library) -> tuple[Array, Array]:
    """Compute cosine and sine of quarter·π/2 + angle, precise near their zeros too; `quarter` is whole, 0 to 4."""
    cosine, sine = lib.xp.cos(angle), lib.xp.sin(angle)
    # As cos(a + q·π/2) = A·cos a - B·sin a with A, B in -1, 0, 1: exact, and no branch.
    opposite = quarter - 2.0
    size = lib.xp.abs(opposite)
    a, b = size - 1.0, opposite * (size - 2.0)
    return cosine * a - sine * b, sine * a + cosine * b
