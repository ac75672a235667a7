"""sin(p/c), cos(p/c) for one divisor c after the other."""

import mpmath


def row(encoding, position, params=None):
    values = []
    with mpmath.workprec(240):
        for divisor in encoding.divisors:
            angle = mpmath.mpf(position) / mpmath.mpf(divisor)
            values += [mpmath.sin(angle), mpmath.cos(angle)]
    return values
