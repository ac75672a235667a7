"""The token's number, one channel."""

from fractions import Fraction


def row(encoding, position, params=None):
    return [Fraction(position) + encoding.start]
