"""LieRE (Ostmeier et al. 2024): the exponential of Σ_a p_a·A_a, a block after the other, A_a = U_a - U_aᵀ."""

import mpmath

ROLES = ("both",)


def block(encoding, generators, head, index, place):
    """Σ_a p_a·A_a for one block of one head."""
    total = mpmath.zeros(encoding.block)
    for at, own in zip(place, generators, strict=True):
        drawn = own[0 if getattr(encoding, "shared", False) else head][index]
        for row in range(encoding.block):
            for column in range(row + 1, encoding.block):
                step = mpmath.mpf(at) * mpmath.mpf(drawn[row][column])
                total[row, column] += step
                total[column, row] -= step
    return total


def rotated(encoding, x, position, role, params, head):
    place = position if encoding.axes > 1 else (position,)
    rotated = []
    with mpmath.workprec(160):
        for index in range(encoding.dim // encoding.block):
            part = mpmath.matrix(x[index * encoding.block : (index + 1) * encoding.block])
            rotated += list(mpmath.expm(block(encoding, params["generators"], head, index, place)) * part)
        return rotated


def units(encoding, params):
    """A product with a matrix of as many channels as turn together."""
    return encoding.block + 4


def lost(encoding, position, params):
    """Squares and products of d terms, which lose d units a radian; and 32 of them, which lose as many."""
    place = position if encoding.axes > 1 else (position,)
    largest = max(abs(v) for axis in params["generators"] for head in axis for one in head for row in one for v in row)
    return 2 * encoding.block * (encoding.block * largest * sum(map(abs, place)) + 32)
