"""Su et al. 2021, eq. 14 and 15: the block-diagonal rotation matrix times the vector, one plane at a time."""

from functools import lru_cache

import mpmath

from oracles import scalings


def planes(encoding):
    """The two channels of every plane."""
    half = encoding.dim // 2
    if encoding.pairing == "adjacent":
        return [(2 * i, 2 * i + 1) for i in range(half)]
    return [(i, half + i) for i in range(half)]


def theta(encoding, plane):
    return scalings.frequency(getattr(encoding, "scaling", None), encoding.base, encoding.dim, plane)


def rotated_by(encoding, plane, position):
    """e^(i·m·θ) in the precision of the caller; once for all vectors and libraries."""
    return _rotated_by(encoding, plane, position, mpmath.mp.prec)


@lru_cache(maxsize=4096)
def _rotated_by(encoding, plane, position, precision):
    """Where a revolution is a whole number of positions, θ of what is left after whole revolutions."""
    scaling = getattr(encoding, "scaling", None)
    whole = (
        scalings.wavelength(scaling, encoding.base, encoding.dim, plane) if type(scaling).__name__ == "Resonance" else 0
    )
    if not whole:
        return mpmath.expj(mpmath.mpf(position) * theta(encoding, plane))
    return mpmath.expjpi(2 * mpmath.fmod(mpmath.mpf(position), whole) / whole)


def rotated(encoding, x, position):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        factor = scalings.attention_factor(getattr(encoding, "scaling", None))
        for plane, (one, two) in enumerate(planes(encoding)):
            # A plane of the paper is the complex number x_1 + i·x_2, rotated by e^(i·m·θ).
            number = factor * mpmath.mpc(x[one], x[two]) * rotated_by(encoding, plane, position)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
