"""RoPE (Su et al. 2021, eq. 15) on each plane, by the coordinate and the frequency that the plane is given."""

import mpmath

from oracles import scalings


def planes(record):
    """The two channels of every plane."""
    pairs = len(record.axis)
    if record.pairing == "adjacent":
        return [(2 * i, 2 * i + 1) for i in range(pairs)]
    half = pairs // record.blocks
    return [(i // half * 2 * half + i % half, i // half * 2 * half + half + i % half) for i in range(pairs)]


def theta(record, plane):
    return scalings.frequency(record.scaling, record.base, record.ladder, record.rung[plane])


def rotated(record, x, position):
    with mpmath.workprec(240):
        turned = [mpmath.mpf(value) for value in x]
        factor = scalings.attention_factor(record.scaling)
        for plane, (one, two) in enumerate(planes(record)):
            angle = mpmath.mpf(position[record.axis[plane]]) * theta(record, plane)
            number = factor * mpmath.mpc(x[one], x[two]) * mpmath.expj(angle)
            turned[one], turned[two] = number.real, number.imag
        return turned
