"""PoPE (Gopalakrishnan et al. 2025): channel c as the complex number softplus(x_c)·exp(i·(p·θ^(-c/d) + δ_c)), δ for
keys."""

import mpmath

ROLES = ("query", "key")


def rotated(encoding, x, position, role, params, head):
    with mpmath.workprec(240):
        numbers = []
        for channel, value in enumerate(x):
            angle = mpmath.mpf(position) * mpmath.power(mpmath.mpf(encoding.base), -mpmath.mpf(channel) / encoding.dim)
            if role == "key":
                angle += min(max(mpmath.mpf(params["phase"][head][channel]), -2 * mpmath.pi), 0)
            numbers.append(mpmath.log1p(mpmath.exp(value)) * mpmath.expj(angle))
        return [number.real for number in numbers] + [number.imag for number in numbers]


def units(encoding, params):
    """softplus to two roundings, a wave to two and its product with that of the phase to four, |softplus(x)| ≤ |x| +
    1."""
    return 16


def lost(encoding, position, params):
    return 0.0
