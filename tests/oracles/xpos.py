"""Sun et al. 2023, algorithm 1, with the centre of the stretch as a field."""

import mpmath

ROLES = ("query", "key")


def planes(record):
    """The two channels of every plane."""
    half = record.dim // 2
    return [(2 * i, 2 * i + 1) if record.pairing == "adjacent" else (i, half + i) for i in range(half)]


def zeta(record, plane):
    return (mpmath.mpf(2 * plane) / record.dim + mpmath.mpf(record.gamma)) / (1 + mpmath.mpf(record.gamma))


def stretched(record, plane, position, role):
    power = (mpmath.mpf(position) - record.centre) / mpmath.mpf(record.scale_base)
    return mpmath.power(zeta(record, plane), power if role == "query" else -power)


def stretch(record, position, role):
    """The greatest factor by which a vector grows."""
    return max(float(stretched(record, plane, position, role)) for plane in (0, record.dim // 2 - 1))


def rotated(record, x, position, role, params):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane, (one, two) in enumerate(planes(record)):
            theta = mpmath.power(mpmath.mpf(record.base), mpmath.mpf(-2 * plane) / record.dim)
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(mpmath.mpf(position) * theta)
            number *= stretched(record, plane, position, role)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
