"""Press et al. 2022, §3, with the rule of the authors' code where the number of heads is no power of two, and
others."""

import mpmath


def slope(encoding, head):
    rule = getattr(encoding, "rule", "paper")
    if rule == "geometric":
        return _geometric(encoding.steepest, head + 1, encoding.heads)
    if rule == "linear":  # exponents in equal steps from -1 for the first head to -steepest for the last
        step = (mpmath.mpf(encoding.steepest) - 1) / (encoding.heads - 1)
        return mpmath.power(2, -1 - head * step)
    power = 1
    while 2 * power <= encoding.heads:
        power *= 2
    if head >= power:  # the first, third, fifth … slope of twice as many heads
        return _geometric(encoding.steepest, 2 * (head - power) + 1, 2 * power)
    return _geometric(encoding.steepest, head + 1, power)


def _geometric(steepest, number, heads):
    return mpmath.power(2, -mpmath.mpf(steepest) * number / heads)


def bias(encoding, head, query, key, params=None):
    with mpmath.workprec(240):
        steps = mpmath.mpf(query) - mpmath.mpf(key)
        if getattr(encoding, "form", "symmetric") == "symmetric" and steps < 0:
            steps = -steps
        return -slope(encoding, head) * steps
