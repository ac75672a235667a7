"""Chi et al. 2022 (KERPLE): the logarithmic kernel, with the floor of the authors' code."""

import mpmath

#: Distance and product round once each, the logarithm is good to 2 units, its product rounds once.
ULPS = 6.0


def bias(encoding, head, query, key, params):
    with mpmath.workprec(240):
        r1, r2 = (max(mpmath.mpf(params[name][head]), mpmath.mpf(0.01)) for name in ("r1", "r2"))
        return -r1 * mpmath.log(1 + r2 * abs(mpmath.mpf(query) - mpmath.mpf(key)))
