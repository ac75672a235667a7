"""Cosine and sine of position × frequency where the frequencies are an array, learned perhaps.

The same fixed point as for frequencies that a record knows, but the number of turns a step is worked out here, from the
float that the array holds: as exact far out, with a gradient for positions and for frequencies.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from posenc import _array
from posenc._array import Array
from posenc.phase.cos_sin import _radians, _turned
from posenc.phase.fixed_point import Phase, Word, _carried, checked, guard
from posenc.phase.frequencies import EXACT, TWO_PI

#: Limbs as wide as the pieces of a position, so that each next piece meets the same limbs one place further on.
WIDE = Word(27, 26, 27, 6, "int64", "float64")
NARROW = Word(14, 12, 14, 6, "int32", "float32")


def cosine_sine_of(positions: Array, rates: Array, *, dtype: Any = None) -> tuple[Array, Array]:
    """cos(p·ω) and sin(p·ω) for positions (*batch, n) and an array of frequencies ω (pairs,), radians a step.

    ω is taken for the exact number that the float holds. Results (*batch, n, pairs), as precise as `cosine_sine`. A
    frequency of 2^27 radians a step or more (2^14 where there is no float64), infinite or NaN gives NaN.
    """
    return cosine_sine_of_learned_sum((positions,), (rates,), dtype=dtype)


def cosine_sine_of_learned_sum(
    places: Sequence[Array], rates: Sequence[Array], *, dtype: Any = None
) -> tuple[Array, Array]:
    """cos and sin of Σ_a p_a·ω_a for coordinates (*batch, n) and, for each, an array of frequencies (pairs,).

    The phases are added in fixed point; otherwise as `cosine_sine_of`.
    """
    places = tuple(checked(place) for place in places)
    dtype = _array.result_dtype(dtype, places[0])
    word = WIDE if _array.has_float64(places[0]) else NARROW
    real = _array.dtype_of(word.real, places[0])
    pairs = [(place, _array.astype(own, real)) for place, own in zip(places, rates, strict=True)]
    quarter, rest = functools.reduce(operator.add, [_phase(place, own, word) for place, own in pairs]).quarters()
    angle = _radians(rest)
    for place, own in pairs:
        if _array.library(place) != "numpy":  # the slopes, which fixed point does not carry; both terms are zero
            steps = _array.astype(place, real)
            angle = angle + _array.detach(steps)[..., None] * (own - _array.detach(own))
            angle = angle + (steps - _array.detach(steps))[..., None] * own
    cosine, sine = _turned(quarter, angle)
    return _array.astype(cosine, dtype), _array.astype(sine, dtype)


def _phase(positions: Array, rates: Array, word: Word) -> Phase:
    """position × frequency, of either sign, as a fraction of a turn."""
    xp, still = _array.namespace(rates), _array.detach(rates)
    size, sign = xp.abs(still), xp.where(still < 0, -xp.ones_like(still), xp.ones_like(still))
    whole, fraction = _cut(positions, word)
    tail = guard(positions, sign.dtype)[..., None] + fraction[..., None] * still / (2 * math.pi) + _unfit(size, word)
    columns = _columns(whole, _turn_limbs(size, word), word)
    turned = _array.astype(sign, columns[0].dtype)
    return Phase(_carried([column * turned for column in columns], word), tail, word)


def _cut(positions: Array, word: Word) -> tuple[Array, Array]:
    """Whole part and fraction of positions; the fraction is 0.0 for integers."""
    xp, integer = _array.namespace(positions), _array.dtype_of(word.integer, positions)
    if _array.kind(positions) == "integer":
        zero = xp.zeros_like(positions)
        return _array.astype(positions, integer), _array.astype(zero, _array.dtype_of(word.real, positions))
    exact = _array.detach(_array.astype(positions, _array.dtype_of(word.real, positions)))
    whole = xp.trunc(exact)
    return _array.astype(whole, integer), exact - whole


def _columns(whole: Array, turns: list[Array], word: Word) -> list[Array]:
    """Position × turns a step, limb by limb, not yet carried; what passes the top is whole turns, and goes."""
    bits = word.low_bits
    pieces = [whole & ((1 << bits) - 1), whole >> bits & ((1 << bits) - 1), whole >> 2 * bits]
    return [
        sum(
            (piece[..., None] * limb for piece, limb in zip(pieces[1:], turns[place + 1 :], strict=False)),
            pieces[0][..., None] * here,
        )
        for place, here in enumerate(turns)
    ]


def _unfit(size: Array, word: Word) -> Array:
    """0.0, or NaN for a frequency that does not fit the limbs."""
    xp = _array.namespace(size)
    return xp.where(size < 2.0**word.limb_bits, xp.zeros_like(size), xp.full_like(size, float("nan")))


def _turn_limbs(size: Array, word: Word) -> list[Array]:
    """ω/2π in limbs below the point, the topmost first: the digits of ω times those of 1/2π."""
    xp, integer = _array.namespace(size), _array.dtype_of(word.integer, size)
    rest = xp.where(size < 2.0**word.limb_bits, size, xp.zeros_like(size))
    digits: list[Array] = []
    for _ in range(word.limbs + 1):
        top = xp.floor(rest)
        digits.append(_array.astype(top, integer))
        rest = (rest - top) * 2.0**word.limb_bits
    inverse = _inverse(word)
    columns = [
        sum((digits[i] * int(inverse[place - i]) for i in range(place + 1)), xp.zeros_like(digits[0]))
        for place in range(word.limbs + 1)
    ]
    return list(_carried(columns, word))


@_array.host
def _inverse(word: Word) -> list[int]:
    """1/2π in limbs below the point, one more than the word has."""
    count, bits = word.limbs + 1, word.limb_bits
    whole = int(EXACT.multiply(EXACT.divide(Decimal(1), TWO_PI), Decimal(1 << bits * count)).to_integral_value())
    return [whole >> bits * (count - 1 - index) & ((1 << bits) - 1) for index in range(count)]
