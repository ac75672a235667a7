"""RoPE (Su et al. 2021, eq. 15) on each plane, by the coordinate and the frequency that the plane is given."""

import mpmath

from oracles import scalings


def planes(encoding):
    """The two channels of every plane."""
    pairs = len(encoding.axis)
    if encoding.pairing == "adjacent":
        return [(2 * i, 2 * i + 1) for i in range(pairs)]
    half = pairs // encoding.blocks
    return [(i // half * 2 * half + i % half, i // half * 2 * half + half + i % half) for i in range(pairs)]


def theta(encoding, plane):
    return scalings.frequency(encoding.scaling, encoding.base, encoding.frequency_dim, encoding.frequency_index[plane])


def wave(encoding, plane, coordinate):
    if type(encoding.frequency_dim).__name__ != "InRevolutions":
        return mpmath.expj(coordinate * theta(encoding, plane))
    inner = encoding.frequency_dim.frequencies  # so many whole revolutions for one unit
    return mpmath.expjpi(
        2 * coordinate * scalings.frequency(None, inner.base, inner.dim, encoding.frequency_index[plane])
    )


def rotated(encoding, x, position):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        factor = scalings.attention_factor(encoding.scaling)
        for plane, (one, two) in enumerate(planes(encoding)):
            number = (
                factor * mpmath.mpc(x[one], x[two]) * wave(encoding, plane, mpmath.mpf(position[encoding.axis[plane]]))
            )
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
