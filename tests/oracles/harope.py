"""HARoPE (Li et al. 2025, and the authors' code): R(p)·M·q and R(p)·M⁻ᵀ·k, M = U·Σ·Vᵀ of the head, U and V exponentials
of half of A - Aᵀ, Σ = softplus(sigma) + 1e-6; the inverse is taken as a matrix, not by inverting Σ."""

import mpmath

from oracles import axial_rope, learned_rope

ROLES = ("query", "key")


def orthogonal(a):
    matrix = mpmath.matrix(a)
    return mpmath.expm((matrix - matrix.T) / 2)


def matrix(params, head):
    sigma = [mpmath.log1p(mpmath.exp(value)) + mpmath.mpf(1e-6) for value in params["sigma"][head]]
    return orthogonal(params["A_u"][head]) * mpmath.diag(sigma) * orthogonal(params["A_v"][head]).T


def rotated(encoding, x, position, role, params, head):
    with mpmath.workprec(240):
        m = matrix(params, head)
        x = list((m if role == "query" else mpmath.inverse(m).T) * mpmath.matrix(x))
        if "inner.frequencies" in params:
            inner = {"frequencies": params["inner.frequencies"]}
            return learned_rope.rotated(encoding.encoding, x, position, "both", inner)
        return axial_rope.rotated(encoding.encoding, x, position)


def units(encoding, params):
    """Rounding of the matrix, a product with it of as many terms as channels, and the rotation."""
    return encoding.head_dim + 12


def lost(encoding, position, params):
    """Squares and products of d terms, which lose d units a radian; and 32 of them, which lose as many; two of them."""
    largest = max(abs(v) for name in ("A_u", "A_v") for head in params[name] for row in head for v in row)
    return 4 * encoding.head_dim * (encoding.head_dim * largest + 32)
