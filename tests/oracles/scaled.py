"""The wrapped oracle's vector times the factor."""

import mpmath

from oracles import within


def row(record, position, params=None):
    with mpmath.workprec(300):
        found = within.oracle(record.encoding).row(record.encoding, position, params)
        return [mpmath.mpf(record.factor) * value for value in found]


def magnitude(record, position, params):
    return [abs(float(value)) for value in row(record, position, params)]
