"""google-research/meliad, transformer/position_alibi.py: a falling line with a floor."""

import mpmath

#: Slope, scale, distance and two products: each rounds once, the slope's power of two to one unit more.
ULPS = 5.0


def bias(encoding, head, query, key, params):
    with mpmath.workprec(240):
        slope = mpmath.power(2, mpmath.mpf(-8 * (head + 1)) / encoding.heads)
        line = -abs(mpmath.mpf(float(params["scale"]))) * slope * abs(mpmath.mpf(query) - mpmath.mpf(key))
        floor = -abs(mpmath.mpf(params["bound"][head] if len(params["bound"]) > 1 else params["bound"][0]))
        return line if line > floor else floor
