"""Black et al. 2022, §2.1: a slice of the head rotates by the wrapped oracle, the rest of it stays."""

from oracles import within


def rotated(encoding, x, position):
    end = encoding.start + encoding.encoding.head_dim
    rotated = within.oracle(encoding.encoding).rotated(encoding.encoding, x[encoding.start : end], position)
    return [*x[: encoding.start], *rotated, *x[end:]]
