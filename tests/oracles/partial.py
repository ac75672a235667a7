"""Black et al. 2022, §2.1: a slice of the head turns by the wrapped oracle, the rest of it stays."""

from oracles import within


def rotated(record, x, position):
    end = record.start + record.encoding.head_dim
    turned = within.oracle(record.encoding).rotated(record.encoding, x[record.start : end], position)
    return [*x[: record.start], *turned, *x[end:]]
