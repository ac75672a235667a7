"""Cosine and sine of position × frequency where the frequencies are an array, learned perhaps.

The same fixed point as for frequencies that an encoding knows, but the number of revolutions a step is worked out here,
from the float that the array holds: as exact far out, with a gradient for positions and for frequencies.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from posenc.core import arrays
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.phase.cos_sin import radians, rotated_by_quarters
from posenc.phase.fixed_point import Phase, Word, carried, digits, whole_and_fraction
from posenc.phase.frequencies import EXACT, TWO_PI

#: Limbs as wide as the pieces of a position, so that each next piece meets the same limbs one place further on.
WIDE = Word(27, 26, 27, 6)
NARROW = Word(14, 12, 14, 6)


def cos_sin_of_learned(parts: Sequence[Positions], frequencies: Sequence[Array], dtype: Any) -> tuple[Array, Array]:
    """Cosine and sine of Σ_a p_a·ω_a, where the frequencies are arrays, learned perhaps.

    ω is taken for the exact number that the float holds, and the phases are added in fixed point, as precise as
    `cosine_sine`. A frequency of 2^27 radians a step or more (2^14 where there is no float64), infinite or NaN gives
    NaN.

    Args:
        parts: Coordinates of the positions, (*batch, n) each.
        frequencies: ω of each coordinate, (pairs,), radians a step.
        dtype: Of the results.

    Returns:
        Cosines and sines, (*batch, n, pairs) each.
    """
    lib = parts[0].lib
    if lib.cos_sin_of_learned is not None:
        coordinates = lib.xp.stack([positions.array for positions in parts], -1)
        cosine, sine = lib.cos_sin_of_learned(coordinates, lib.xp.stack(list(frequencies)))
        return lib.astype(cosine, dtype), lib.astype(sine, dtype)
    word = WIDE if lib.float64 else NARROW
    pairs = [(positions, lib.widest(frequency)) for positions, frequency in zip(parts, frequencies, strict=True)]
    phases = [_phase(positions, frequency, word) for positions, frequency in pairs]
    quarter, rest = functools.reduce(operator.add, phases).quarters()
    angle = radians(rest, lib)
    for positions, frequency in pairs:
        if lib.name != "numpy":  # the slopes, which fixed point does not carry; both terms are zero
            steps = lib.widest(positions.array)
            angle = angle + lib.detach(steps)[..., None] * (frequency - lib.detach(frequency))
            angle = angle + (steps - lib.detach(steps))[..., None] * frequency
    cosine, sine = rotated_by_quarters(quarter, angle, lib)
    return lib.astype(cosine, dtype), lib.astype(sine, dtype)


def learned_gradients(
    positions: Array, frequencies: Array, cos_sin: tuple[Array, Array], incoming: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Gradients of positions and of frequencies from those of cos and sin.

    dcos = -sin·dθ and dsin = cos·dθ, θ = Σ_a p_a·ω_a.

    Args:
        positions: (*batch, n, axes); all arrays have one dtype.
        frequencies: (axes, pairs).
        cos_sin: Cosines and sines, (*batch, n, pairs) each.
        incoming: Gradients of both.

    Returns:
        Gradients of positions and of frequencies.
    """
    (cosine, sine), (of_cosine, of_sine) = cos_sin, incoming
    of_angle = of_sine * cosine - of_cosine * sine
    of_frequencies = positions.reshape((-1, positions.shape[-1])).T @ of_angle.reshape((-1, of_angle.shape[-1]))
    return of_angle @ frequencies.T, of_frequencies


def _phase(positions: Positions, frequencies: Array, word: Word) -> Phase:
    """Position × frequency, of either sign, as a fraction of a revolution."""
    lib = positions.lib
    xp, values = lib.xp, lib.detach(frequencies)
    size, sign = xp.abs(values), xp.where(values < 0, -xp.ones_like(values), xp.ones_like(values))
    whole, fraction = whole_and_fraction(positions)
    too_large = xp.where(size < 2.0**word.limb_bits, xp.zeros_like(size), float("nan"))
    tail = positions.guard()[..., None] + too_large
    if fraction is not None:
        tail = tail + fraction[..., None] * values / (2 * math.pi)
    columns = _columns(whole, _revolution_limbs(size, word, lib), word)
    signs = lib.astype(sign, columns[0].dtype)
    return Phase(carried([column * signs for column in columns], word), tail, word, lib)


def _columns(whole: Array, revolutions: list[Array], word: Word) -> list[Array]:
    """Position × revolutions a step, limb by limb, not yet carried; whole revolutions are dropped."""
    bits = word.low_bits
    pieces = [whole & ((1 << bits) - 1), whole >> bits & ((1 << bits) - 1), whole >> 2 * bits]
    return [
        sum(
            (piece[..., None] * limb for piece, limb in zip(pieces[1:], revolutions[index + 1 :], strict=False)),
            pieces[0][..., None] * here,
        )
        for index, here in enumerate(revolutions)
    ]


def _revolution_limbs(size: Array, word: Word, lib: Library) -> list[Array]:
    """Limbs of the fractional part of ω/2π, topmost first, from a product of the limbs of ω and of 1/2π."""
    xp = lib.xp
    rest = xp.where(size < 2.0**word.limb_bits, size, xp.zeros_like(size))
    digits: list[Array] = []
    for _ in range(word.limbs + 1):
        top = xp.floor(rest)
        digits.append(lib.astype(top, lib.integer))
        rest = (rest - top) * 2.0**word.limb_bits
    inverse = _inverse(word)
    columns = [
        sum((digits[i] * int(inverse[index - i]) for i in range(index + 1)), xp.zeros_like(digits[0]))
        for index in range(word.limbs + 1)
    ]
    return list(carried(columns, word, word.limbs + 1))


@arrays.host
def _inverse(word: Word) -> list[int]:
    """Limbs of 1/2π after the binary point, topmost first, one more than `word.limbs`."""
    count, bits = word.limbs + 1, word.limb_bits
    whole = int(EXACT.multiply(EXACT.divide(Decimal(1), TWO_PI), Decimal(1 << bits * count)).to_integral_value())
    return digits(whole, bits, count)
