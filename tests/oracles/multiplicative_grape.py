"""Multiplicative GRAPE (Zhang et al. 2025): the exponential of p·ω·(a·bᵀ - b·aᵀ), by Rodrigues' formula."""

import mpmath

ROLES = ("both",)


def area(params):
    """s = √(αβ - γ²), of the squares of a and b and their product."""
    a, b = ([mpmath.mpf(value) for value in params[name]] for name in ("a", "b"))
    alpha, beta, gamma = mpmath.fdot(a, a), mpmath.fdot(b, b), mpmath.fdot(a, b)
    return mpmath.sqrt(alpha * beta - gamma**2)


def rotated(encoding, x, position, role, params):
    with mpmath.workprec(400):
        a, b = mpmath.matrix(params["a"]), mpmath.matrix(params["b"])
        generator, s = a * b.T - b * a.T, area(params)
        angle = mpmath.mpf(position) * mpmath.mpf(encoding.rate) * s
        vector = mpmath.matrix(x)
        once = generator * vector
        twice = generator * once
        return list(vector + mpmath.sin(angle) / s * once + (1 - mpmath.cos(angle)) / s**2 * twice)


def slant(params):
    """How much of a digit is lost where a and b are almost parallel."""
    a, b = ([mpmath.mpf(value) for value in params[name]] for name in ("a", "b"))
    return float(mpmath.norm(a) * mpmath.norm(b) / area(params))


def units(encoding, params):
    """Two products with an orthonormal basis, whose second column is what is left of b; and the rotation of a plane."""
    return (2 * (encoding.dim + 2) + 4 * encoding.dim) * slant(params) + 8


def lost(encoding, position, params):
    """The rate is formed of three sums of `dim` squares."""
    return abs(position) * encoding.rate * float(area(params)) * (2 * encoding.dim + 8) * slant(params)
