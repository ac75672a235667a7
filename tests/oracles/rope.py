"""Su et al. 2021, eq. 14 and 15: the block-diagonal rotation matrix times the vector, one plane at a time."""

import mpmath

from oracles import scalings


def planes(record):
    """The two channels of every plane."""
    half = record.dim // 2
    if record.pairing == "adjacent":
        return [(2 * i, 2 * i + 1) for i in range(half)]
    return [(i, half + i) for i in range(half)]


def theta(record, plane):
    return scalings.frequency(getattr(record, "scaling", None), record.base, record.dim, plane)


def rotated_by(record, plane, position):
    """e^(i·m·θ); where a rotation is a whole number of positions, from what is left of the position after whole revolutions."""
    scaling = getattr(record, "scaling", None)
    whole = scalings.wavelength(scaling, record.base, record.dim, plane) if type(scaling).__name__ == "Resonance" else 0
    if not whole:
        return mpmath.expj(mpmath.mpf(position) * theta(record, plane))
    return mpmath.expjpi(2 * mpmath.fmod(mpmath.mpf(position), whole) / whole)


def rotated(record, x, position):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        factor = scalings.attention_factor(getattr(record, "scaling", None))
        for plane, (one, two) in enumerate(planes(record)):
            # A plane of the paper is the complex number x_1 + i·x_2, rotated by e^(i·m·θ).
            number = factor * mpmath.mpc(x[one], x[two]) * rotated_by(record, plane, position)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
