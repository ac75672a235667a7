"""LieRE (Ostmeier et al. 2024): the exponential of Σ_a p_a·A_a, a block after the other, A_a = U_a - U_aᵀ."""

import mpmath

ROLES = ("both",)


def block(record, generators, head, index, place):
    """Σ_a p_a·A_a for one block of one head."""
    total = mpmath.zeros(record.block)
    for at, own in zip(place, generators, strict=True):
        drawn = own[0 if getattr(record, "shared", False) else head][index]
        for row in range(record.block):
            for column in range(row + 1, record.block):
                step = mpmath.mpf(at) * mpmath.mpf(drawn[row][column])
                total[row, column] += step
                total[column, row] -= step
    return total


def rotated(record, x, position, role, params, head):
    place = position if record.axes > 1 else (position,)
    rotated = []
    with mpmath.workprec(160):
        for index in range(record.dim // record.block):
            part = mpmath.matrix(x[index * record.block : (index + 1) * record.block])
            rotated += list(mpmath.expm(block(record, params["generators"], head, index, place)) * part)
        return rotated


def units(record, params):
    """A product with a matrix of as many channels as turn together."""
    return record.block + 4


def lost(record, position, params):
    """Squares and products of d terms, which lose d units a radian; and 32 of them, which lose as many."""
    place = position if record.axes > 1 else (position,)
    largest = max(abs(v) for axis in params["generators"] for head in axis for one in head for row in one for v in row)
    return 2 * record.block * (record.block * largest * sum(map(abs, place)) + 32)
