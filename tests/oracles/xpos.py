"""Sun et al. 2023, algorithm 1, with the centre of the stretch as a field."""

import mpmath

ROLES = ("query", "key")


def planes(encoding):
    """The two channels of every plane."""
    half = encoding.dim // 2
    return [(2 * i, 2 * i + 1) if encoding.pairing == "adjacent" else (i, half + i) for i in range(half)]


def zeta(encoding, plane):
    return (mpmath.mpf(2 * plane) / encoding.dim + mpmath.mpf(encoding.gamma)) / (1 + mpmath.mpf(encoding.gamma))


def stretched(encoding, plane, position, role):
    power = (mpmath.mpf(position) - encoding.centre) / mpmath.mpf(encoding.scale_base)
    return mpmath.power(zeta(encoding, plane), power if role == "query" else -power)


def stretch(encoding, position, role):
    """The greatest factor by which a vector grows."""
    return max(float(stretched(encoding, plane, position, role)) for plane in (0, encoding.dim // 2 - 1))


def rotated(encoding, x, position, role, params):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane, (one, two) in enumerate(planes(encoding)):
            theta = mpmath.power(mpmath.mpf(encoding.base), mpmath.mpf(-2 * plane) / encoding.dim)
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(mpmath.mpf(position) * theta)
            number *= stretched(encoding, plane, position, role)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
