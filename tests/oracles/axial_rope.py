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
    return scalings.frequency(record.scaling, record.base, record.frequency_dim, record.frequency_index[plane])


def wave(record, plane, coordinate):
    if type(record.frequency_dim).__name__ != "InRevolutions":
        return mpmath.expj(coordinate * theta(record, plane))
    inner = record.frequency_dim.frequencies  # so many whole revolutions for one unit
    return mpmath.expjpi(
        2 * coordinate * scalings.frequency(None, inner.base, inner.dim, record.frequency_index[plane])
    )


def rotated(record, x, position):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        factor = scalings.attention_factor(record.scaling)
        for plane, (one, two) in enumerate(planes(record)):
            number = factor * mpmath.mpc(x[one], x[two]) * wave(record, plane, mpmath.mpf(position[record.axis[plane]]))
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
