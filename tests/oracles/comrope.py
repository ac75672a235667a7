"""ComRoPE (Yu et al. 2025): block b turns by exp(t·(F - Fᵀ)), t the sum over the axes of coordinate times
multiplier."""

import mpmath

ROLES = ("both",)


def multiplier(record, params, axis, index):
    if record.commuting == "partition":
        return 1 if index % record.axes == axis else 0
    return mpmath.mpf(params["multiplier"][axis][index])


def rotated(record, x, position, role, params, head):
    place = position if record.axes > 1 else (position,)
    rotated = []
    with mpmath.workprec(160):
        for index in range(record.dim // record.block):
            f = mpmath.matrix(params["generators"][head][index])
            t = sum(mpmath.mpf(at) * multiplier(record, params, axis, index) for axis, at in enumerate(place))
            part = mpmath.matrix(x[index * record.block : (index + 1) * record.block])
            rotated += list(mpmath.expm(t * (f - f.T)) * part)
        return rotated


def units(record, params):
    """A product with a matrix of as many channels as turn together."""
    return record.block + 4


def lost(record, position, params):
    """Squares and products of d terms, which lose d units a radian; and 32 of them, which lose as many."""
    place = position if record.axes > 1 else (position,)
    largest = max(abs(v) for head in params["generators"] for one in head for row in one for v in row)
    most = max([abs(v) for axis in params.get("multiplier", []) for v in axis] + [1.0])
    return 2 * record.block * (2 * record.block * largest * most * sum(map(abs, place)) + 32)
