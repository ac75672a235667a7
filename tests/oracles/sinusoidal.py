"""Vaswani et al. 2017, §3.5, a channel at a time, and the conventions of later code.

numerics="float32" is the same formula: what it differs by is the tolerance of the comparison.
"""

import mpmath


def frequency(encoding, pair):
    """The angle that pair number `pair` gains in one step."""
    width = encoding.dim - 1 if encoding.odd == "zero" and encoding.dim % 2 else encoding.dim
    exponent = {
        "2i/d": lambda: mpmath.mpf(2 * pair) / width,
        "i/d": lambda: mpmath.mpf(pair) / width,
        "i/(d/2-1)": lambda: mpmath.mpf(pair) / (width // 2 - 1),
    }[encoding.exponent]()
    return mpmath.power(mpmath.mpf(encoding.base), -exponent)


def channel(encoding, number):
    """Which pair a channel belongs to and whether it is its first wave; None for an empty channel."""
    width = encoding.dim
    if width % 2 and (encoding.odd == "zero" or encoding.exponent == "i/(d/2-1)"):
        if number == width - 1:
            return None
        width -= 1
    if encoding.layout == "interleaved":
        return number // 2, number % 2 == 0
    firsts = width - width // 2
    return (number, True) if number < firsts else (number - firsts, False)


def value(encoding, position, number):
    place = channel(encoding, number)
    if place is None:
        return mpmath.mpf(0)
    pair, leads = place
    angle = (mpmath.mpf(position) + encoding.start) * frequency(encoding, pair)
    wave = mpmath.sin if leads == (encoding.first == "sine") else mpmath.cos
    return mpmath.mpf(encoding.scale) * wave(angle)


def row(encoding, position, params=None):
    with mpmath.workprec(240):
        return [value(encoding, position, number) for number in range(encoding.dim)]


def steepness(encoding, number):
    """The frequency of a channel, for tolerances; 0 for an empty one."""
    place = channel(encoding, number)
    return float(frequency(encoding, place[0])) if place else 0.0
