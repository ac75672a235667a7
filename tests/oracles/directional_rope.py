"""RoPE (Su et al. 2021, eq. 15) by the projection of a place on the direction of each plane."""

import mpmath


def rotated(encoding, x, position):
    half = len(encoding.frequency_index)
    with mpmath.workprec(280):
        rotated = [mpmath.mpf(value) for value in x]
        for plane, (half_revolutions, index) in enumerate(
            zip(encoding.direction, encoding.frequency_index, strict=True)
        ):
            one, two = (2 * plane, 2 * plane + 1) if encoding.pairing == "adjacent" else (plane, half + plane)
            y, across = map(mpmath.mpf, position)
            along = y * mpmath.cospi(mpmath.mpf(half_revolutions)) + across * mpmath.sinpi(mpmath.mpf(half_revolutions))
            theta = mpmath.power(mpmath.mpf(encoding.base), mpmath.mpf(-2 * index) / encoding.frequency_dim)
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(along * theta)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
