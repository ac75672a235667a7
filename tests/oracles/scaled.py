"""The wrapped oracle's vector times the factor."""

import mpmath

from oracles import within


def row(encoding, position, params=None):
    with mpmath.workprec(300):
        found = within.oracle(encoding.encoding).row(encoding.encoding, position, params)
        return [mpmath.mpf(encoding.factor) * value for value in found]


def magnitude(encoding, position, params):
    return [abs(float(value)) for value in row(encoding, position, params)]
