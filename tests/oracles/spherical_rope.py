"""Spherical RoPE (van de Geijn et al. 2025, the authors' code): yaw by the second coordinate, then roll by the
first."""

import mpmath

ROLES = ("both",)


def rotated(encoding, x, position, role, params):
    with mpmath.workprec(240):
        made = []
        for triple in range(len(x) // 3):
            one, two, three = (mpmath.mpf(value) for value in x[3 * triple : 3 * triple + 3])
            theta = mpmath.power(mpmath.mpf(encoding.base), mpmath.mpf(-2 * triple) / encoding.dim)
            yawed = mpmath.mpc(one, three) * mpmath.expj(mpmath.mpf(position[1]) * theta)
            rolled = mpmath.mpc(two, yawed.imag) * mpmath.expj(mpmath.mpf(position[0]) * theta)
            made += [yawed.real, rolled.real, rolled.imag]
        return made


def units(encoding, params):
    """Two waves to 3.5 units each and their product, then three products and two sums."""
    return 16


def lost(encoding, position, params):
    return 0.0
