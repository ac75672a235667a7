"""Chi et al. 2022 (KERPLE): the power kernel, with the bounds of the authors' code."""

import mpmath

#: The distance rounds once, which a power of up to 2 doubles; the power is good to 2 units, its product rounds once.
ULPS = 6.0


def bias(encoding, head, query, key, params):
    with mpmath.workprec(240):
        r1, r2 = (max(mpmath.mpf(params[name][head]), mpmath.mpf(0.01)) for name in ("r1", "r2"))
        distance = abs(mpmath.mpf(query) - mpmath.mpf(key))
        return -r1 * mpmath.power(distance, min(r2, mpmath.mpf(2)))
