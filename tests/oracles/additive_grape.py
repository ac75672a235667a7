"""Zhang et al. 2025 (additive GRAPE, gated): the distance times a slope that query and key set."""

import mpmath


def dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def slope(heads, head):
    """ALiBi's: those of the power of two below, then the first, third … of twice as many."""
    power = 1
    while 2 * power <= heads:
        power *= 2
    step = mpmath.mpf(8) / power
    return mpmath.power(2, -step * (head + 1) if head < power else -step / 2 * (2 * (head - power) + 1))


def _softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def _parts(encoding, head, q, k, params):
    """Length and logit of each gate."""
    for name, own in (("v", q), ("u", k)):
        if name in params:
            direction = [mpmath.mpf(a) for a in params[name][head]]
            length = max(mpmath.sqrt(dot(direction, direction)), mpmath.mpf("1e-6")) if encoding.normalised else 1
            yield [a / length for a in direction], own


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        gates = sum(
            _softplus(dot(direction, own) / mpmath.sqrt(encoding.dim))
            for direction, own in _parts(encoding, head, q, ks[index], params)
        )
        steep = slope(encoding.heads, head) * _softplus(mpmath.mpf(params["omega"][head]))
        return -max(mpmath.mpf(query) - mpmath.mpf(keys[index]), 0) * steep * gates


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size: a gate's logit is a sum of `dim` products, and softplus is no steeper than one."""
    with mpmath.workprec(240):
        size = sum(
            1 + dot([abs(a) for a in direction], [abs(b) for b in own])
            for direction, own in _parts(encoding, head, q, ks[index], params)
        )
        distance = max(mpmath.mpf(query) - mpmath.mpf(keys[index]), 0)
        steep = slope(encoding.heads, head) * (1 + abs(params["omega"][head]))
        return (2 * encoding.dim + 20) * distance * steep * size


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
