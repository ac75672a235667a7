"""Liu et al. 2022 (Swin v2), with the 8 and the 16 of the authors' code."""

import mpmath


def read(size, m, n):
    step = mpmath.mpf(m) - mpmath.mpf(n)
    return mpmath.sign(step) * mpmath.log(1 + abs(8 * step / (size - 1)), 2) / mpmath.log(8, 2)


def _hidden(encoding, query, key, params):
    x = [read(size, m, n) for size, m, n in zip(encoding.window, query, key, strict=True)]
    for weights, level in zip(params["weight_in"], params["bias_in"], strict=True):
        yield [mpmath.mpf(weight) * value for weight, value in zip(weights, x, strict=True)] + [mpmath.mpf(level)]


def bias(encoding, head, query, key, params):
    with mpmath.workprec(240):
        rows = zip(params["weight_out"][head], _hidden(encoding, query, key, params), strict=True)
        total = sum(mpmath.mpf(weight) * max(sum(terms), 0) for weight, terms in rows)
        return 16 / (1 + mpmath.exp(-total))


def magnitude(encoding, head, query, key, params):
    """Roundings times size: a logarithm and a quotient for each axis, two sums; 16σ is no steeper than 4, and the sum
    of tanh and 1 that makes it rounds to units of 16."""
    rows = zip(params["weight_out"][head], _hidden(encoding, query, key, params), strict=True)
    size = sum(abs(mpmath.mpf(weight)) * sum(map(abs, terms)) for weight, terms in rows)
    return 4 * (encoding.width + len(encoding.window) + 10) * size + 64
