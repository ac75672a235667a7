"""STRING (Schenck et al. 2025): P·R·Pᵀ, with the orthogonal P = (I - S)(I + S)⁻¹ of a skew-symmetric S, and R a
rotation of each plane by the sum over the axes of coordinate times frequency."""

import mpmath

ROLES = ("both",)


def orthogonal(matrix):
    """The Cayley transform of A - Aᵀ."""
    a = mpmath.matrix(matrix)
    s, one = a - a.T, mpmath.eye(a.rows)
    return (one - s) * mpmath.inverse(one + s)


def rotated(encoding, x, position, role, params):
    with mpmath.workprec(240):
        p = orthogonal(params["A"])
        inside = p.T * mpmath.matrix(x)
        place = position if encoding.axes > 1 else (position,)
        for plane in range(encoding.dim // 2):
            angle = sum(
                mpmath.mpf(at) * mpmath.mpf(own[plane]) for at, own in zip(place, params["frequencies"], strict=True)
            )
            number = mpmath.mpc(inside[2 * plane], inside[2 * plane + 1]) * mpmath.expj(angle)
            inside[2 * plane], inside[2 * plane + 1] = number.real, number.imag
        return list(p * inside)


def units(encoding, params):
    """Two products with P of `dim` terms, whose entries solve as many equations; and the rotation, 4 an axis."""
    return 2 * (encoding.dim + 2) + 4 * encoding.dim + 4 * encoding.axes + 4


def lost(encoding, position, params):
    return 0.0
