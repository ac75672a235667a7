"""Kazemi et al. 2019, eq. 1, with the sine."""

import mpmath


def row(encoding, position, params):
    with mpmath.workprec(300):
        angles = [
            mpmath.mpf(omega) * mpmath.mpf(position) + mpmath.mpf(phi)
            for omega, phi in zip(params["omega"], params["phi"], strict=True)
        ]
        return [angles[0], *(mpmath.sin(angle) for angle in angles[1:])]


def steepness(encoding, number, position, params):
    """The size of a channel's angle: a float angle is off by a share of it."""
    return abs(params["omega"][number] * position) + abs(params["phi"][number])
