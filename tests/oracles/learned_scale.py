"""Li et al. 2019, §3.3: the position's vector times one learned number."""

import mpmath

from oracles import within


def row(encoding, position, params):
    with mpmath.workprec(300):
        found = within.oracle(encoding.encoding).row(encoding.encoding, position, within.own(params, "inner"))
        return [mpmath.mpf(params["scale"]) * value for value in found]


def magnitude(encoding, position, params):
    return [abs(float(value)) for value in row(encoding, position, params)]
