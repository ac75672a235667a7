"""RoPE (Su et al. 2021, eq. 15) by one coordinate a head; a head without one does not rotate."""

import mpmath

ROLES = ("both",)


def axis_of(encoding, head):
    for axis, share in enumerate(encoding.shares):
        if head < share:
            return axis
        head -= share
    return None


def rotated(encoding, x, position, role, params, head):
    half, axis = encoding.dim // 2, axis_of(encoding, head)
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane in range(half):
            one, two = (2 * plane, 2 * plane + 1) if encoding.pairing == "adjacent" else (plane, half + plane)
            theta = mpmath.power(mpmath.mpf(encoding.base), -2 * mpmath.mpf(plane) / encoding.dim)
            angle = mpmath.mpf(0) if axis is None else mpmath.mpf(position[axis]) * theta
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(angle)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated


def units(encoding, params):
    """Cosine and sine to 3.5 units, two products and a sum."""
    return 6


def lost(encoding, position, params):
    return 0.0
