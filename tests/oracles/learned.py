"""A row of the table, and what is done beyond its end."""

from fractions import Fraction


def row(encoding, position, params):
    table = params["table"]
    last = len(table) - 1
    if encoding.outside == "interpolate":
        return _between(table, Fraction(position) * last / max(encoding.extent - 1, 1))
    if encoding.outside == "wrap":
        while position < 0 or position > last:
            position -= (position // len(table)) * len(table)
    elif encoding.outside == "clamp":
        position = sorted((0, position, last))[1]
    return list(table[position])


def _between(table, place):
    """Linear interpolation at a fractional row, end rows kept."""
    below = min(int(place), len(table) - 1)
    above, step = min(below + 1, len(table) - 1), place - below
    return [Fraction(a) + (Fraction(b) - Fraction(a)) * step for a, b in zip(table[below], table[above], strict=True)]
