"""ComRoPE (Yu et al. 2025): block b turns by exp(t·(F - Fᵀ)), t the sum over the axes of coordinate times
multiplier."""

import mpmath

ROLES = ("both",)


def multiplier(encoding, params, axis, index):
    if encoding.commuting == "partition":
        return 1 if index % encoding.axes == axis else 0
    return mpmath.mpf(params["multiplier"][axis][index])


def rotated(encoding, x, position, role, params, head):
    place = position if encoding.axes > 1 else (position,)
    rotated = []
    with mpmath.workprec(160):
        for index in range(encoding.dim // encoding.block):
            f = mpmath.matrix(params["generators"][head][index])
            t = sum(mpmath.mpf(at) * multiplier(encoding, params, axis, index) for axis, at in enumerate(place))
            part = mpmath.matrix(x[index * encoding.block : (index + 1) * encoding.block])
            rotated += list(mpmath.expm(t * (f - f.T)) * part)
        return rotated


def units(encoding, params):
    """A product with a matrix of as many channels as turn together."""
    return encoding.block + 4


def lost(encoding, position, params):
    """Squares and products of d terms, which lose d units a radian; and 32 of them, which lose as many."""
    place = position if encoding.axes > 1 else (position,)
    largest = max(abs(v) for head in params["generators"] for one in head for row in one for v in row)
    most = max([abs(v) for axis in params.get("multiplier", []) for v in axis] + [1.0])
    return 2 * encoding.block * (2 * encoding.block * largest * most * sum(map(abs, place)) + 32)
