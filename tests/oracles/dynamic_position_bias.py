"""A multilayer perceptron of the distance, query minus key, with SiLU (Wang et al. 2021 on one axis)."""

import mpmath


def _silu(x):
    return x / (1 + mpmath.exp(-x))


def _read(encoding, query, key):
    distance = mpmath.mpf(query) - mpmath.mpf(key)
    if not encoding.log_distance:
        return distance
    return mpmath.sign(distance) * mpmath.log(abs(distance) + 1)


def _layers(encoding, params):
    yield [[weight] for weight in params["weight_in"]], params["bias_in"]
    for layer in range(encoding.depth - 1):
        yield params["weight_hidden"][layer], params["bias_hidden"][layer]


def bias(encoding, head, query, key, params):
    with mpmath.workprec(240):
        x = [_read(encoding, query, key)]
        for weight, level in _layers(encoding, params):
            x = [_silu(_row(row, x) + mpmath.mpf(own)) for row, own in zip(weight, level, strict=True)]
        return _row(params["weight_out"][head], x) + mpmath.mpf(params["bias_out"][head])


def _row(weights, x):
    return sum((mpmath.mpf(weight) * value for weight, value in zip(weights, x, strict=True)), mpmath.mpf(0))


def magnitude(encoding, head, query, key, params):
    """Roundings times size: sizes without their signs through every layer (SiLU moves by at most 1.1 of what it reads),
    with as many roundings a layer as it has terms, and a few for SiLU itself."""
    x = [abs(_read(encoding, query, key))]
    for weight, level in _layers(encoding, params):
        x = [1.1 * (_row(map(abs, row), x) + abs(own)) for row, own in zip(weight, level, strict=True)]
    size = _row(map(abs, params["weight_out"][head]), x) + abs(params["bias_out"][head])
    return (encoding.depth * (encoding.dim + 10) + encoding.dim) * size
