"""RoPE (Su et al. 2021, eq. 15) on each half of the channels, with a base of its own."""

import mpmath

ROLES = ("both",)


def planes(encoding):
    """The two channels of every plane."""
    half, quarter = encoding.dim // 2, encoding.dim // 4
    return [
        (start + 2 * i, start + 2 * i + 1) if encoding.pairing == "adjacent" else (start + i, start + quarter + i)
        for start in (0, half)
        for i in range(quarter)
    ]


def theta(encoding, plane):
    quarter = encoding.dim // 4
    base, place = (encoding.base, plane) if plane < quarter else (encoding.second_base, plane - quarter)
    return mpmath.power(mpmath.mpf(base), mpmath.mpf(-2 * place) / (encoding.dim // 2))


def rotated(encoding, x, position, role, params):
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane, (one, two) in enumerate(planes(encoding)):
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(mpmath.mpf(position) * theta(encoding, plane))
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
