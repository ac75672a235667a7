"""Vaswani et al. 2017, §3.5, a channel at a time, and the conventions of later code.

numerics="float32" is the same formula: what it differs by is the tolerance of the comparison.
"""

import mpmath


def frequency(record, pair):
    """The angle that pair number `pair` gains in one step."""
    width = record.dim - 1 if record.odd == "zero" and record.dim % 2 else record.dim
    exponent = {
        "2i/d": lambda: mpmath.mpf(2 * pair) / width,
        "i/d": lambda: mpmath.mpf(pair) / width,
        "i/(d/2-1)": lambda: mpmath.mpf(pair) / (width // 2 - 1),
    }[record.exponent]()
    return mpmath.power(mpmath.mpf(record.base), -exponent)


def channel(record, number):
    """Which pair a channel belongs to and whether it is its first wave; None for an empty channel."""
    width = record.dim
    if width % 2 and (record.odd == "zero" or record.exponent == "i/(d/2-1)"):
        if number == width - 1:
            return None
        width -= 1
    if record.layout == "interleaved":
        return number // 2, number % 2 == 0
    firsts = width - width // 2
    return (number, True) if number < firsts else (number - firsts, False)


def value(record, position, number):
    place = channel(record, number)
    if place is None:
        return mpmath.mpf(0)
    pair, leads = place
    angle = (mpmath.mpf(position) + record.start) * frequency(record, pair)
    wave = mpmath.sin if leads == (record.first == "sine") else mpmath.cos
    return mpmath.mpf(record.scale) * wave(angle)


def row(record, position, params=None):
    with mpmath.workprec(240):
        return [value(record, position, number) for number in range(record.dim)]


def steepness(record, number):
    """The frequency of a channel, for tolerances; 0 for an empty one."""
    place = channel(record, number)
    return float(frequency(record, place[0])) if place else 0.0
