"""RoPE++ (Liu et al. 2025): q·exp(i·m·θ), and for the imaginary heads that times -i, so that the real part of its
product with the conjugate of a rotated key is what the imaginary part of RoPE's was."""

import mpmath

ROLES = ("query", "key")


def rotated(encoding, x, position, role, params, head):
    half = encoding.dim // 2
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane in range(half):
            one, two = (2 * plane, 2 * plane + 1) if encoding.pairing == "adjacent" else (plane, half + plane)
            theta = mpmath.power(mpmath.mpf(encoding.base), -2 * mpmath.mpf(plane) / encoding.dim)
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(mpmath.mpf(position) * theta)
            number = number * mpmath.mpc(0, -1) if role == "query" and head % 2 else number
            rotated[one], rotated[two] = number.real, number.imag
        return rotated


def units(encoding, params):
    """Cosine and sine to 3.5 units, two products and a sum."""
    return 6


def lost(encoding, position, params):
    return 0.0
