"""The sine of the position in radians."""

import mpmath


def row(encoding, position, params=None):
    with mpmath.workprec(240):
        return [mpmath.sin(mpmath.mpf(position))]
