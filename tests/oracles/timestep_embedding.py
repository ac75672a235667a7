"""Ho et al. 2020's released code and its later variants, a channel at a time; an odd width ends in 0."""

import mpmath


def frequency(encoding, pair):
    half = encoding.dim // 2
    power = -mpmath.mpf(pair) / (half - mpmath.mpf(encoding.shift))
    return mpmath.mpf(encoding.scale) * mpmath.power(mpmath.mpf(encoding.max_period), power)


def row(encoding, position, params=None):
    with mpmath.workprec(300):
        angles = [mpmath.mpf(position) * frequency(encoding, pair) for pair in range(encoding.dim // 2)]
        sines, cosines = ([wave(angle) for angle in angles] for wave in (mpmath.sin, mpmath.cos))
        empty = [mpmath.mpf(0)] * (encoding.dim % 2)
        return (cosines + sines if encoding.flip else sines + cosines) + empty


def steepness(encoding, number):
    """The frequency of a channel, for tolerances; 0 for an empty one."""
    half = encoding.dim // 2
    return float(frequency(encoding, number % half)) if number < 2 * half else 0.0
