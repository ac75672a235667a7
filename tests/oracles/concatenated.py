"""The wrapped oracle's vector, behind the embedding."""

from oracles import within


def row(record, position, params=None):
    return within.oracle(record.encoding).row(record.encoding, position, params)


def attached(record, x, position, params=None):
    """One token's embedding with its position behind it."""
    return [*x, *row(record, position, params)]
