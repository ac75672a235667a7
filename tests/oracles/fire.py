"""Li et al. 2023 (FIRE): a network of one hidden layer reads the distance as a share of the query's position."""

import mpmath


def _psi(x, c):
    return mpmath.log(abs(c * x) + 1)


def _share(encoding, query, key, params):
    c, multiplier = (mpmath.mpf(float(params[name])) for name in ("c", "multiplier"))
    start = abs(mpmath.mpf(encoding.threshold) * multiplier)
    reach = mpmath.mpf(query) if query > start else start
    return _psi(mpmath.mpf(query) - mpmath.mpf(key), c) / (_psi(reach, c) + mpmath.mpf(encoding.epsilon))


def _terms(encoding, head, query, key, params):
    share = _share(encoding, query, key, params)
    for weight, bias, out in zip(params["weight_in"], params["bias_in"], params["weight_out"][head], strict=True):
        yield mpmath.mpf(weight) * share, mpmath.mpf(bias), mpmath.mpf(out)


def bias(encoding, head, query, key, params):
    with mpmath.workprec(240):
        total = mpmath.mpf(params["bias_out"][head])
        for steep, level, out in _terms(encoding, head, query, key, params):
            total += out * max(steep + level, 0)
        return total


def magnitude(encoding, head, query, key, params):
    """Roundings times size: the share is good to 8 units, each unit of the layer rounds 3 times, then a sum of so
    many."""
    size = abs(mpmath.mpf(params["bias_out"][head]))
    for steep, level, out in _terms(encoding, head, query, key, params):
        size += abs(out) * (abs(steep) + abs(level))
    return (encoding.width + 12) * size
