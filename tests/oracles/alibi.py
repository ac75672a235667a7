"""Press et al. 2022, §3, with the rule of the authors' code where the number of heads is no power of two."""

import mpmath


def slope(record, head):
    power = 1
    while 2 * power <= record.heads:
        power *= 2
    if head >= power:  # the first, third, fifth … slope of twice as many heads
        return _geometric(record.steepest, 2 * (head - power) + 1, 2 * power)
    return _geometric(record.steepest, head + 1, power)


def _geometric(steepest, number, heads):
    return mpmath.power(2, -mpmath.mpf(steepest) * number / heads)


def bias(record, head, query, key, params=None):
    with mpmath.workprec(240):
        steps = mpmath.mpf(query) - mpmath.mpf(key)
        return -slope(record, head) * (steps if steps > 0 else -steps)
