"""Query temperatures: the logarithm of the place to the base of a length, that of a number of steps, and a power
of the place."""

import mpmath

ROLES = ("query", "key")


def factor(encoding, position):
    place = mpmath.mpf(position) + encoding.start
    if hasattr(encoding, "exponent"):
        return (1 + max(place, 0) / encoding.length) ** mpmath.mpf(encoding.exponent)
    if hasattr(encoding, "length"):
        return mpmath.log(place) / mpmath.log(encoding.length) if place > encoding.length else mpmath.mpf(1)
    steps = max(0, mpmath.floor(place / encoding.floor))
    return 1 + mpmath.mpf(encoding.scale) * mpmath.log(1 + steps)


def stretch(encoding, position, role):
    return float(factor(encoding, position)) if role == "query" else 1.0


def rotated(encoding, x, position, role, params):
    with mpmath.workprec(240):
        grown = factor(encoding, position) if role == "query" else 1
        return [mpmath.mpf(value) * grown for value in x]
