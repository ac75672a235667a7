"""The token's number over the number of tokens."""

from fractions import Fraction


def row(record, position, params=None):
    return [(Fraction(position) + record.start) / record.length]
