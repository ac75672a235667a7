"""XD-RoPE of transformers 5.23: every channel doubled from the list of pairs, cut into sections, then x·cos +
rotate_half(x)·sin."""

import mpmath

from oracles import scalings

ROLES = ("both",)


def axis_of(encoding, channel):
    for axis, section in enumerate(encoding.sections):
        if channel < 2 * section:
            return axis
        channel -= 2 * section
    raise IndexError(channel)


def rotated(encoding, x, position, role, params):
    dim = len(x)
    half = dim // 2
    with mpmath.workprec(240):
        made = []
        for channel in range(dim):
            theta = scalings.frequency(encoding.scaling, encoding.base, dim, channel % half)
            angle = mpmath.mpf(position[axis_of(encoding, channel)]) * theta
            other = -x[channel + half] if channel < half else x[channel - half]
            made.append(x[channel] * mpmath.cos(angle) + other * mpmath.sin(angle))
        return [scalings.attention_factor(encoding.scaling) * value for value in made]


def units(encoding, params):
    """Cosine and sine to 3.5 units, two products and a sum."""
    return 6


def lost(encoding, position, params):
    """What released arithmetic loses: of the angle, a power good to some units of 2^-24 and a product; the waves as
    well."""
    return 0.0 if encoding.numerics == "exact" else 2.0**29 * (2 + 2 * max(abs(place) for place in position))
