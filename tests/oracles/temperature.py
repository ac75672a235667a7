"""Query temperatures: the logarithm of the place to the base of a length, that of a number of steps, and a power
of the place."""

import mpmath

ROLES = ("query", "key")


def factor(record, position):
    place = mpmath.mpf(position) + record.start
    if hasattr(record, "exponent"):
        return (1 + max(place, 0) / record.length) ** mpmath.mpf(record.exponent)
    if hasattr(record, "length"):
        return mpmath.log(place) / mpmath.log(record.length) if place > record.length else mpmath.mpf(1)
    steps = max(0, mpmath.floor(place / record.floor))
    return 1 + mpmath.mpf(record.scale) * mpmath.log(1 + steps)


def stretch(record, position, role):
    return float(factor(record, position)) if role == "query" else 1.0


def rotated(record, x, position, role, params):
    with mpmath.workprec(240):
        grown = factor(record, position) if role == "query" else 1
        return [mpmath.mpf(value) * grown for value in x]
