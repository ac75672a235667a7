"""The token's number over the number of tokens."""

from fractions import Fraction


def row(encoding, position, params=None):
    return [(Fraction(position) + encoding.start) / encoding.length]
