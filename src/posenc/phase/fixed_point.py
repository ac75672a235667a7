"""Phase in fixed point: the fraction of a revolution as a whole number of 2^-170 revolutions, kept in limbs.

A float64 angle loses a position's bits as the position grows. A whole number of tiny parts of a revolution does not:
the product position × frequency wraps around at whole revolutions by itself, and differences of phases are exact,
phase(m) - phase(n) = phase(m - n) to the last bit. The limbs are small enough that no product overflows.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, NamedTuple

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library, remembered
from posenc.core.checked_positions import Positions, checked
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies


class Word(NamedTuple):
    """Widths of pieces of numbers such that products of a position piece and a limb, and their sums, fit an integer."""

    low_bits: int  # of a position's lower piece
    fraction_bits: int  # of each of the two pieces of a fraction of a position
    limb_bits: int
    limbs: int


WIDE = Word(27, 26, 34, 5)
#: Where there are no 64-bit numbers (JAX by default): 70 bits of a revolution, positions below 2^31.
NARROW = Word(16, 12, 14, 5)


class Phase(NamedTuple):
    """Fractions of a revolution, `sum(limbs[i] * 2**(-bits * (i + 1)))`, wrapping at whole revolutions.

    Attributes:
        limbs: Whole numbers, the most significant first, (*batch, n, pairs) each.
        tail: Revolutions that a fraction of a position adds below the last limb, or NaN for a position out of range;
            None for whole positions that could be read.
        word: Widths of the limbs.
        lib: Library of the limbs.
    """

    limbs: tuple[Array, ...]
    tail: Array | None
    word: Word
    lib: Library

    def __sub__(self, other: Phase) -> Phase:
        """Phase of the difference of two positions, exact to the last bit carried."""
        columns = [mine - theirs for mine, theirs in zip(self.limbs, other.limbs, strict=True)]
        tail = self.tail if other.tail is None else -other.tail if self.tail is None else self.tail - other.tail
        return Phase(carried(columns, self.word), tail, self.word, self.lib)

    def __add__(self, other: Phase) -> Phase:  # type: ignore[override]
        """Phase of a sum, over two coordinates, say; exact to the last bit carried."""
        columns = [mine + theirs for mine, theirs in zip(self.limbs, other.limbs, strict=True)]
        tail = self.tail if other.tail is None else other.tail if self.tail is None else self.tail + other.tail
        return Phase(carried(columns, self.word), tail, self.word, self.lib)

    def quarters(self) -> tuple[Array, Array]:
        """Split into the nearest quarter turn, 0.0 to 4.0, and the rest.

        Returns:
            Quarter turns, and the rest in quarters, [-1/2, 1/2] plus 4 · tail, to full relative precision.
        """
        limbs, tail, word, lib = self
        unit, scaled = 2.0**-word.limb_bits, lib.scaled
        scale = 4.0 * unit
        rest = scaled(limbs[0], scale)
        quarter = lib.xp.floor(rest + 0.5)
        rest -= quarter
        # From the top down, so that what cancels does so before anything is rounded.
        for limb in limbs[1:]:
            scale *= unit
            rest += scaled(limb, scale)
        return quarter, rest if tail is None else rest + 4.0 * tail


def phase(positions: Array | Positions, frequencies: Frequencies) -> Phase:
    """Position × frequency as a fraction of a revolution, for every position and frequency.

    Args:
        positions: (*batch, n), integers, float32 or float64 of magnitude at most 2^53 (below 2^31 where there are no
            64-bit numbers); whatever a float64 can hold of a fraction is kept. One out of range that cannot be read
            (tracing, accelerators) gives NaN.
        frequencies: Frequencies of the pairs, radians a step.

    Returns:
        Phase with limbs (*batch, n, pairs).

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: Positions that can be read are out of range.
    """
    positions = checked(positions)
    validation.instance("frequencies", frequencies, Frequencies, "a record of frequencies")
    return phase_of(positions, frequencies)


def phase_of(positions: Positions, frequencies: Frequencies) -> Phase:
    """Phase of positions that have been checked."""
    lib, bounds = positions.lib, positions.bounds
    word = WIDE if lib.float64 else NARROW
    short = bounds is not None and -(1 << word.low_bits) <= bounds[0] and bounds[1] <= 1 << word.low_bits
    whole, fraction = whole_and_fraction(positions)
    if short:
        columns = _products(whole, frequencies, word, 0, lib)
    else:  # in two pieces, each short enough to be multiplied by a limb
        columns = _products(whole & ((1 << word.low_bits) - 1), frequencies, word, 0, lib)
        columns = columns + _products(whole >> word.low_bits, frequencies, word, word.low_bits, lib)
    tail = None if positions.readable and fraction is None else positions.guard()[..., None]
    if fraction is not None:
        step, trunc = 2.0**word.fraction_bits, lib.xp.trunc
        first = trunc(fraction * step)
        second = trunc((fraction * step - first) * step)
        for piece, weight in ((first, -word.fraction_bits), (second, -2 * word.fraction_bits)):
            columns = columns + _products(lib.astype(piece, lib.integer), frequencies, word, weight, lib)
        rest = fraction - first / step - second / step**2
        tail = tail + rest[..., None] * lib.constant(revolutions_per_step(frequencies), lib.real)
    return Phase(carried(columns, word), tail, word, lib)


def whole_and_fraction(positions: Positions) -> tuple[Array, Array | None]:
    """Whole part (towards zero) and fraction, with the sign of tiny numbers kept in the fraction; None for integers."""
    lib = positions.lib
    if positions.integers:
        return lib.astype(positions.array, lib.integer), None
    exact = lib.detach(lib.widest(positions.array))
    # Towards zero: -1e-30 is 0 and -1e-30, not -1 and the 1.0 that a float makes of 1 - 1e-30.
    whole = lib.xp.trunc(exact)
    return lib.astype(whole, lib.integer), exact - whole


def _products(piece: Array, frequencies: Frequencies, word: Word, weight: int, lib: Library) -> Array:
    """Multiply a piece of each position, in units of 2^weight, by every limb; (limbs, *batch, n, pairs)."""
    limbs = lib.constant(_limbs(frequencies, word, weight), lib.integer)
    return piece[..., None] * limbs[(slice(None), *(None,) * piece.ndim)]


def carried(columns: Any, word: Word, count: int = 0) -> tuple[Array, ...]:
    """Carry columns of sums into limbs of `word.limb_bits` bits; overflow at the top, whole revolutions, is dropped."""
    mask, bits, last = (1 << word.limb_bits) - 1, word.limb_bits, (count or word.limbs) - 1
    total = columns[last]
    limbs = [total & mask]
    for index in range(last - 1, -1, -1):
        total = columns[index] + (total >> bits)
        limbs.append(total & mask)
    return tuple(limbs[::-1])


@remembered(256)
def _limbs(frequencies: Frequencies, word: Word, weight: int) -> np.ndarray:
    """Limbs of frequency × 2^weight in revolutions, most significant first; shape (limbs, pairs)."""
    bits, count = word.limb_bits, word.limbs
    # A heavier piece is the rounded number shifted, not one rounded by itself: only so is phase(m) - phase(n) the phase
    # of m - n to the last bit.
    wholes = [
        revolutions << max(weight, 0) for revolutions in whole_revolutions(frequencies, bits * count + min(weight, 0))
    ]
    return np.array([digits(whole, bits, count) for whole in wholes], np.int64).T


@arrays.host
def limbs(frequencies: Frequencies, bits: int, count: int) -> np.ndarray:
    """Frequencies as fractions of a revolution, in limbs of so many bits, the topmost first; (count, pairs)."""
    return _limbs(frequencies, WIDE._replace(limb_bits=bits, limbs=count), 0)


@arrays.host
def revolutions_per_step(frequencies: Frequencies) -> np.ndarray:
    """Frequencies in revolutions a step, as float64; shape (pairs,)."""
    return np.array([float(revolution) for revolution in _revolutions(frequencies)])


@arrays.host
def revolution_words(frequencies: Frequencies) -> np.ndarray:
    """Frequencies in whole 2^-128 revolutions a step.

    Times a whole position, in integers that wrap around at whole revolutions, they are the phase: kernels compute with
    it.

    Returns:
        int64 (2, pairs), the upper and the lower 64 bits.
    """
    words = [digits(revolutions, 64, 2) for revolutions in whole_revolutions(frequencies, 128)]
    return np.array(words, np.uint64).T.copy().view(np.int64)


def whole_revolutions(frequencies: Frequencies, bits: int) -> list[int]:
    """Each frequency in whole 2^-bits revolutions a step, rounded."""
    scale = Decimal(1 << bits)
    return [
        int(EXACT.multiply(revolution, scale).to_integral_value(ROUND_HALF_EVEN, EXACT))
        for revolution in _revolutions(frequencies)
    ]


def digits(whole: int, bits: int, count: int) -> list[int]:
    """Last `count` digits of a whole number to the base 2^bits, the topmost first."""
    return [(whole >> bits * (count - 1 - index)) % (1 << bits) for index in range(count)]


def _revolutions(frequencies: Frequencies) -> list[Decimal]:
    """Frequencies in revolutions a step, to 100 digits."""
    return [EXACT.divide(frequency, TWO_PI) for frequency in frequencies.exact()]
