"""Black et al. 2022, §2.1: a slice of the head rotates by the wrapped oracle, the rest of it stays."""

from oracles import within


def rotated(record, x, position):
    end = record.start + record.encoding.head_dim
    rotated = within.oracle(record.encoding).rotated(record.encoding, x[record.start : end], position)
    return [*x[: record.start], *rotated, *x[end:]]
