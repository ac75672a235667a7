"""Tancik et al. 2020, §6 (Gaussian), with the draws made from the published description of the generator.

O'Neill 2014's PCG XSL-RR 128/64, seeded as NumPy's SeedSequence does, gives 64-bit words; two of them, cut to 53 bits,
give one normal number by Box and Muller's rule, rounded to 24 bits.
"""

import math

import mpmath

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
MASK32, MASK64, MASK128 = 2**32 - 1, 2**64 - 1, 2**128 - 1


def pool(entropy):
    """Four 32-bit words mixed from a whole number."""
    words = []
    while entropy or not words:
        words.append(entropy & MASK32)
        entropy >>= 32
    constant = 0x43B0D7E5

    def hashed(value):
        nonlocal constant
        value ^= constant
        constant = constant * 0x931E8875 & MASK32
        value = value * constant & MASK32
        return value ^ value >> 16

    def mixed(x, y):
        value = (0xCA01F9DD * x - 0x4973F715 * y) & MASK32
        return value ^ value >> 16

    found = [hashed(words[i] if i < len(words) else 0) for i in range(4)]
    for source in range(4):
        for target in range(4):
            if source != target:
                found[target] = mixed(found[target], hashed(found[source]))
    for word in words[4:]:
        for target in range(4):
            found[target] = mixed(found[target], hashed(word))
    return found


def state(entropy):
    """Eight 32-bit words of the pool, as four of 64 bits."""
    constant, mixed, words = 0x8B51F9DD, pool(entropy), []
    for i in range(8):
        value = mixed[i % 4] ^ constant
        constant = constant * 0x58F38DED & MASK32
        value = value * constant & MASK32
        words.append(value ^ value >> 16)
    return [words[2 * i] | words[2 * i + 1] << 32 for i in range(4)]


def stream(seed, count):
    one, two, three, four = state(seed)
    increment = ((three << 64 | four) << 1 | 1) & MASK128
    now = (increment + (one << 64 | two)) * MULTIPLIER + increment & MASK128
    words = []
    for _ in range(count):
        now = now * MULTIPLIER + increment & MASK128
        folded, rotation = (now >> 64 ^ now) & MASK64, now >> 122
        words.append((folded >> rotation | folded << (-rotation & 63)) & MASK64)
    return words


def draws(encoding):
    """b of every feature, coordinate after coordinate."""
    if getattr(encoding, "matrix", None) is not None:
        return [mpmath.mpf(value) for row in encoding.matrix for value in row]
    words = [word >> 11 for word in stream(encoding.seed, 2 * encoding.features * getattr(encoding, "axes", 1))]
    numbers = []
    for one, two in zip(words[::2], words[1::2], strict=True):
        value = mpmath.sqrt(-2 * mpmath.log(mpmath.mpf(one + 1) / 2**53)) * mpmath.cospi(mpmath.mpf(two) / 2**52)
        numbers.append(_single(value))
    return numbers


def _single(value):
    """The nearest number of 24 bits."""
    fraction, exponent = mpmath.frexp(value)
    return mpmath.nint(fraction * 2**24) * mpmath.mpf(2) ** (int(exponent) - 24) if math.isfinite(value) else value


def revolutions(encoding, place):
    """b_k·p of every feature: the sum over the coordinates."""
    numbers, count = draws(encoding), encoding.features
    for k in range(count):
        parts = (numbers[axis * count + k] * mpmath.mpf(at) for axis, at in enumerate(place))
        yield mpmath.mpf(encoding.std) * sum(parts)


def row(encoding, position, params=None):
    place = position if isinstance(position, tuple) else (position,)
    with mpmath.workprec(300):
        angles = list(revolutions(encoding, place))
        cosines, sines = ([wave(2 * rotation) for rotation in angles] for wave in (mpmath.cospi, mpmath.sinpi))
        return cosines + sines if encoding.first == "cosine" else sines + cosines
