"""Phase in fixed point: the fraction of a turn as a whole number of 2^-170 turns, kept in limbs.

A float64 angle loses a position's bits as the position grows. A whole number of tiny parts of a turn does not: the
product position × frequency wraps around at whole turns by itself, and differences of phases are exact,
phase(m) - phase(n) = phase(m - n) to the last bit. The limbs are small enough that no product overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posenc import _array, _check
from posenc._array import Array
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies

#: The largest position that has a float64 of its own and of its neighbours.
LARGEST_POSITION = 2**53


class Word(NamedTuple):
    """How numbers are cut for an integer type: products of a position piece and a limb, and their sums, fit in it."""

    low_bits: int  # of a position's lower piece
    fraction_bits: int  # of each of the two pieces of a fraction of a position
    limb_bits: int
    limbs: int
    integer: str
    real: str


WIDE = Word(27, 26, 34, 5, "int64", "float64")
#: Where there are no 64-bit numbers (JAX by default): 70 bits of a turn, positions below 2^31.
NARROW = Word(16, 12, 14, 5, "int32", "float32")


@dataclass(frozen=True)
class Phase:
    """Fractions of a turn, `sum(limbs[i] * 2**(-bits * (i + 1)))`, wrapping at whole turns.

    `tail` is what a fraction of a position adds below the last limb, in turns; 0.0 for whole positions.
    """

    limbs: tuple[Array, ...]
    tail: Array
    word: Word

    def __sub__(self, other: Phase) -> Phase:
        """The phase of the difference of two positions, exact to the last bit carried."""
        columns = [mine - theirs for mine, theirs in zip(self.limbs, other.limbs, strict=True)]
        return Phase(_carried(columns, self.word), self.tail - other.tail, self.word)

    def __add__(self, other: Phase) -> Phase:
        """The phase of a sum, over two coordinates, say; exact to the last bit carried."""
        columns = [mine + theirs for mine, theirs in zip(self.limbs, other.limbs, strict=True)]
        return Phase(_carried(columns, self.word), self.tail + other.tail, self.word)

    def quarters(self) -> tuple[Array, Array]:
        """The nearest quarter turn (0 to 3), and what is left: turns in [-1/8, 1/8], to full relative precision."""
        bits, real = self.word.limb_bits, _array.dtype_of(self.word.real, self.limbs[0])
        top, quarter_bits = self.limbs[0], bits - 2
        quarter = (top + (1 << (quarter_bits - 1))) >> quarter_bits
        rest = _array.astype(top - (quarter << quarter_bits), real) * 2.0**-bits
        # From the top down, so that what cancels does so before anything is rounded.
        for index, limb in enumerate(self.limbs[1:], 2):
            rest = rest + _array.astype(limb, real) * 2.0 ** (-bits * index)
        return quarter & 3, rest + self.tail


def phase(positions: Array, frequencies: Frequencies) -> Phase:
    """position × frequency as a fraction of a turn, for every position and frequency.

    Shapes: positions (*batch, n), limbs (*batch, n, pairs). Positions are integers or float32/float64 numbers of
    magnitude at most 2^53 (below 2^31 where there are no 64-bit numbers); whatever a float64 can hold of a fraction
    is kept. Beyond that: ValueError where values can be seen, NaN where they cannot (tracing, accelerators).
    """
    positions = checked(positions)
    _check.instance("frequencies", frequencies, Frequencies, "a record of frequencies")
    word = WIDE if _array.has_float64(positions) else NARROW
    whole, fraction = _split(positions, word)
    integer = _array.dtype_of(word.integer, positions)
    pieces, weights = _pieces(whole, word)
    real = _array.dtype_of(word.real, positions)
    tail = guard(positions, real)[..., None]
    if fraction is not None:
        step = 2.0**word.fraction_bits
        trunc = _array.namespace(fraction).trunc
        first = trunc(fraction * step)
        second = trunc((fraction * step - first) * step)
        pieces += [_array.astype(first, integer), _array.astype(second, integer)]
        weights += [-word.fraction_bits, -2 * word.fraction_bits]
        rest = fraction - first / step - second / step**2
        turns = _array.constant(turn_rates(frequencies), positions, real)
        tail = tail + rest[..., None] * turns
    columns: list[Array] = []
    for piece, weight in zip(pieces, weights, strict=True):
        limbs = _array.constant(_limbs(frequencies, word, weight), positions, integer)
        products = [piece[..., None] * limbs[index] for index in range(word.limbs)]
        columns = [column + product for column, product in zip(columns, products, strict=True)] if columns else products
    return Phase(_carried(columns, word), tail, word)


def checked(positions: Array, name: str = "positions") -> Array:
    """Positions as an array that phase can take, or the error that says why not, under the argument's name."""
    positions = _array.as_array(name, positions)
    kind = _array.kind(positions)
    if kind == "narrow":
        raise TypeError(
            f"{name} must be integers, float32 or float64; got {_array.dtype_name(positions.dtype)}, which does not "
            "hold every whole number. Build positions as integers; they never take the model's dtype."
        )
    if kind == "other" or str(positions.dtype) == "torch.uint64":
        raise TypeError(
            f"{name} must be integers, float32 or float64; got {_array.dtype_name(positions.dtype)}. Convert them."
        )
    if _array.library(positions) == "torch" and _array.dtype_name(positions.dtype) in ("uint16", "uint32"):
        positions = _array.signed(positions)  # PyTorch stores these and compares none of them
    ends = _array.extremes(positions)
    if ends is not None and not (ends[0] >= -LARGEST_POSITION and ends[1] <= LARGEST_POSITION):
        raise ValueError(
            f"{name} must be finite and of magnitude at most 2^53; got values from {ends[0]} to {ends[1]}. "
            "Give smaller positions."
        )
    if ends is not None and not _array.has_float64(positions) and max(-ends[0], ends[1]) >= 2**31:
        raise ValueError(
            f"{name} must be below 2^31 in magnitude where there are no 64-bit numbers; got values from {ends[0]} to "
            f"{ends[1]}. Enable 64-bit numbers (jax_enable_x64)."
        )
    return positions


def _split(positions: Array, word: Word) -> tuple[Array, Array | None]:
    """Whole part (towards minus infinity) and fraction, if any, with the sign of tiny numbers kept in the fraction."""
    integer = _array.dtype_of(word.integer, positions)
    if _array.kind(positions) == "integer":
        return _array.astype(positions, integer), None
    exact = _array.detach(_array.astype(positions, _array.dtype_of(word.real, positions)))
    xp = _array.namespace(exact)
    # Towards zero: -1e-30 is 0 and -1e-30, not -1 and the 1.0 that a float makes of 1 - 1e-30.
    whole = xp.trunc(exact)
    return _array.astype(whole, integer), exact - whole


def _pieces(whole: Array, word: Word) -> tuple[list[Array], list[int]]:
    """Whole positions in pieces short enough to be multiplied by a limb, and the power of two that each stands for."""
    ends = _array.extremes(whole)
    if ends is not None and -(1 << word.low_bits) <= ends[0] and ends[1] <= 1 << word.low_bits:
        return [whole], [0]
    return [whole & ((1 << word.low_bits) - 1), whole >> word.low_bits], [0, word.low_bits]


def guard(positions: Array, real: object = None) -> Array:
    """0.0, or NaN for a position out of range that could not be looked at, in the widest float unless `real` is given."""
    xp, real = _array.namespace(positions), real or _array.widest_dtype(positions)
    zero = _array.astype(xp.zeros_like(positions), real)
    name, wide = _array.dtype_name(positions.dtype), _array.has_float64(positions)
    if (
        _array.concrete(positions)
        or name in ("int8", "uint8", "int16", "uint16", "int32")
        or (wide and name == "uint32")
    ):
        return zero
    limit = LARGEST_POSITION if wide else 2**31 - 128
    inside = positions <= limit
    if not name.startswith("uint"):  # -limit is no unsigned number
        inside = inside & (positions >= -limit)
    return xp.where(inside, zero, xp.full_like(zero, float("nan")))


def _carried(columns: list[Array], word: Word) -> tuple[Array, ...]:
    """Columns of sums as limbs of `word.limb_bits` bits; what passes the top is whole turns, and goes."""
    mask = (1 << word.limb_bits) - 1
    limbs, carry = [], 0
    for column in reversed(columns):
        total = column + carry
        limbs.append(total & mask)
        carry = total >> word.limb_bits
    return tuple(reversed(limbs))


@_array.host
def _limbs(frequencies: Frequencies, word: Word, weight: int) -> np.ndarray:
    """Limbs of frequency × 2^weight in turns, most significant first; shape (limbs, pairs)."""
    return _remembered_limbs(frequencies, word, weight).copy()


@_array.host
def limbs(frequencies: Frequencies, bits: int, count: int) -> np.ndarray:
    """Frequencies as fractions of a turn, to 2^-(bits·count) turns, in limbs of so many bits, the topmost first; (count, pairs)."""
    return _limbs(frequencies, WIDE._replace(limb_bits=bits, limbs=count), 0)


@_array.host
def turn_rates(frequencies: Frequencies) -> np.ndarray:
    """The frequencies in turns a step, as float64; shape (pairs,)."""
    return np.array([float(turn) for turn in _turns(frequencies)])


@_array.host
def turn_words(frequencies: Frequencies) -> np.ndarray:
    """The frequencies in whole 2^-128 turns a step, as int64 that hold the upper and the lower 64 bits; shape (2, pairs).

    Times a whole position, in integers that wrap around at whole turns, it is the phase: what kernels take.
    """
    scale = Decimal(1 << 128)
    whole = [int(EXACT.multiply(turn, scale).to_integral_value(ROUND_HALF_EVEN, EXACT)) for turn in _turns(frequencies)]
    words = [[(number >> shift) % (1 << 64) for number in whole] for shift in (64, 0)]
    return np.array(words, np.uint64).view(np.int64)


def _turns(frequencies: Frequencies) -> list[Decimal]:
    return [EXACT.divide(frequency, TWO_PI) for frequency in frequencies.exact()]


@lru_cache(maxsize=256)
def _remembered_limbs(frequencies: Frequencies, word: Word, weight: int) -> np.ndarray:
    bits, count = word.limb_bits, word.limbs
    # A heavier piece is the rounded number shifted, not one rounded by itself: only so is phase(m) - phase(n) the phase
    # of m - n to the last bit.
    scale = Decimal(1 << (bits * count + min(weight, 0)))
    wholes = [
        int(EXACT.multiply(turn, scale).to_integral_value(ROUND_HALF_EVEN, EXACT)) << max(weight, 0)
        for turn in _turns(frequencies)
    ]
    limbs = np.empty((count, len(wholes)), dtype=word.integer)
    for index in range(count):
        shift = bits * (count - 1 - index)
        limbs[index] = [(whole >> shift) & ((1 << bits) - 1) for whole in wholes]
    limbs.setflags(write=False)
    return limbs
