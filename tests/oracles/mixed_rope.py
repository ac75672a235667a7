"""RoPE (Su et al. 2021, eq. 15) by a sum over the coordinates, each frequency a number of its own (Heo et al. 2024,
§3.2)."""

import mpmath

ROLES = ("both",)


def rotated(encoding, x, position, role, params):
    half = encoding.dim // 2
    with mpmath.workprec(240):
        rotated = [mpmath.mpf(value) for value in x]
        for plane in range(half):
            one, two = (2 * plane, 2 * plane + 1) if encoding.pairing == "adjacent" else (plane, half + plane)
            angle = mpmath.fsum(
                mpmath.mpf(coordinate) * mpmath.mpf(rates[plane])
                for coordinate, rates in zip(position, params["frequencies"], strict=True)
            )
            number = mpmath.mpc(x[one], x[two]) * mpmath.expj(angle)
            rotated[one], rotated[two] = number.real, number.imag
        return rotated
