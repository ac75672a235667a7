"""Su et al. 2021, eq. 14 and 15: the block-diagonal rotation matrix times the vector, one plane at a time."""

import mpmath


def planes(record):
    """The two channels of every plane."""
    half = record.dim // 2
    if record.pairing == "adjacent":
        return [(2 * i, 2 * i + 1) for i in range(half)]
    return [(i, half + i) for i in range(half)]


def theta(record, plane):
    return mpmath.power(mpmath.mpf(record.base), mpmath.mpf(-2 * plane) / record.dim)


def rotated(record, x, position):
    with mpmath.workprec(240):
        turned = [mpmath.mpf(value) for value in x]
        for plane, (one, two) in enumerate(planes(record)):
            # A plane of the paper is the complex number x_1 + i·x_2, turned by e^(i·m·θ).
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(mpmath.mpf(position) * theta(record, plane))
            turned[one], turned[two] = number.real, number.imag
        return turned
