"""The wrapped oracle's vector, behind the embedding."""

from oracles import within


def row(encoding, position, params=None):
    return within.oracle(encoding.encoding).row(encoding.encoding, position, params)


def attached(encoding, x, position, params=None):
    """One token's embedding with its position behind it."""
    return [*x, *row(encoding, position, params)]
