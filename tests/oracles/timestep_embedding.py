"""Ho et al. 2020's released code and its later variants, a channel at a time; an odd width ends in 0."""

import mpmath


def frequency(record, pair):
    half = record.dim // 2
    power = -mpmath.mpf(pair) / (half - mpmath.mpf(record.shift))
    return mpmath.mpf(record.scale) * mpmath.power(mpmath.mpf(record.max_period), power)


def row(record, position, params=None):
    with mpmath.workprec(300):
        angles = [mpmath.mpf(position) * frequency(record, pair) for pair in range(record.dim // 2)]
        sines, cosines = ([wave(angle) for angle in angles] for wave in (mpmath.sin, mpmath.cos))
        empty = [mpmath.mpf(0)] * (record.dim % 2)
        return (cosines + sines if record.flip else sines + cosines) + empty


def steepness(record, number):
    """The frequency of a channel, for tolerances; 0 for an empty one."""
    half = record.dim // 2
    return float(frequency(record, number % half)) if number < 2 * half else 0.0
