"""Vaswani et al. 2017, §3.5, for each coordinate of a place, a channel at a time."""

import mpmath


def channel(record, number):
    """The slice a channel belongs to, its pair there, and whether it is the pair's first wave."""
    if record.layout == "gathered":
        half = sum(record.dims) // 2
        number, leads = number % half, number < half
        for piece, dim in enumerate(record.dims):
            if number < dim // 2:
                return piece, number, leads
            number -= dim // 2
    piece = 0
    while number >= record.dims[piece]:
        number -= record.dims[piece]
        piece += 1
    dim = record.dims[piece]
    if record.layout == "interleaved":
        return piece, number // 2, number % 2 == 0
    return piece, number % (dim // 2), number < dim // 2


def value(record, position, number):
    piece, pair, leads = channel(record, number)
    width = record.frequency_dim or record.dims[piece]
    angle = mpmath.mpf(position[record.order[piece]]) * mpmath.power(record.base, -mpmath.mpf(2 * pair) / width)
    return mpmath.sin(angle) if leads == (record.first == "sine") else mpmath.cos(angle)


def row(record, position, params=None):
    with mpmath.workprec(240):
        return [value(record, position, number) for number in range(sum(record.dims))]
