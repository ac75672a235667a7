"""The token's number, one channel."""

from fractions import Fraction


def row(record, position, params=None):
    return [Fraction(position) + record.start]
