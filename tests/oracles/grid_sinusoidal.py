"""Vaswani et al. 2017, §3.5, for each coordinate of a place, a channel at a time."""

import mpmath


def channel(encoding, number):
    """The slice a channel belongs to, its pair there, and whether it is the pair's first wave."""
    if encoding.layout == "gathered":
        half = sum(encoding.dims) // 2
        number, leads = number % half, number < half
        for piece, dim in enumerate(encoding.dims):
            if number < dim // 2:
                return piece, number, leads
            number -= dim // 2
    piece = 0
    while number >= encoding.dims[piece]:
        number -= encoding.dims[piece]
        piece += 1
    dim = encoding.dims[piece]
    if encoding.layout == "interleaved":
        return piece, number // 2, number % 2 == 0
    return piece, number % (dim // 2), number < dim // 2


def value(encoding, position, number):
    piece, pair, leads = channel(encoding, number)
    width = encoding.frequency_dim or encoding.dims[piece]
    angle = mpmath.mpf(position[encoding.order[piece]]) * mpmath.power(encoding.base, -mpmath.mpf(2 * pair) / width)
    return mpmath.sin(angle) if leads == (encoding.first == "sine") else mpmath.cos(angle)


def row(encoding, position, params=None):
    with mpmath.workprec(240):
        return [value(encoding, position, number) for number in range(sum(encoding.dims))]
