"""RoPE (Su et al. 2021, eq. 15) with each frequency a number of its own, as the float that holds it."""

import mpmath

ROLES = ("both",)


def rotated(encoding, x, position, role, params):
    half = encoding.dim // 2
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane, frequency in enumerate(params["frequencies"]):
            one, two = (2 * plane, 2 * plane + 1) if encoding.pairing == "adjacent" else (plane, half + plane)
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(mpmath.mpf(position) * mpmath.mpf(frequency))
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
