"""FoPE (Hua et al. 2024): the planes of RoPE on halves, whose cosine and sine are mixtures of those of all kept
frequencies."""

import mpmath

ROLES = ("both",)


def kept(encoding):
    """Frequencies whose period fits in the trained length."""
    thetas = [
        mpmath.power(mpmath.mpf(encoding.base), -2 * mpmath.mpf(j) / encoding.dim) for j in range(encoding.dim // 2)
    ]
    return [theta for theta in thetas if 2 * mpmath.pi / theta < encoding.length]


def rotated(encoding, x, position, role, params, head):
    with mpmath.workprec(240):
        thetas, half, rotated = kept(encoding), encoding.dim // 2, [mpmath.mpf(value) for value in x]
        for plane in range(half):
            cosine, sine = mpmath.mpf(1), mpmath.mpf(1 if encoding.padding == "one" else 0)
            if plane < len(thetas):
                angles = [mpmath.mpf(position) * theta for theta in thetas]
                cosine = mpmath.fdot((mpmath.cos(a), params["cosines"][head][j][plane]) for j, a in enumerate(angles))
                sine = mpmath.fdot((mpmath.sin(a), params["sines"][head][j][plane]) for j, a in enumerate(angles))
            a, b = mpmath.mpf(x[plane]), mpmath.mpf(x[half + plane])
            rotated[plane], rotated[half + plane] = a * cosine - b * sine, a * sine + b * cosine
        return rotated


def units(encoding, params):
    """A sum of as many products as frequencies, and the rotation."""
    largest = max(abs(value) for name in ("cosines", "sines") for one in params[name] for row in one for value in row)
    return (encoding.dim + 8) * encoding.dim * max(largest, 1)


def lost(encoding, position, params):
    return 0.0
