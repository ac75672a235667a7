"""Yang et al. 2025 (PaTH): the product of the keys' own reflections, written out vector by vector."""

import mpmath


def _dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def _sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def direction(encoding, head, params, rows):
    """w of the last of these inputs; those before it are the keys before, as many as the filter reads at most."""
    found = []
    for channel in range(encoding.dim):
        total = mpmath.mpf(0)
        for back, x in enumerate(reversed(rows)):
            low = [_dot(weights, x) for weights in params["w_in"]]
            tap = params["filter"][head][channel][encoding.taps - 1 - back]
            total += _dot(params["w_out"][head][channel], low) * mpmath.mpf(tap)
        found.append(total * _sigmoid(total))
    length = mpmath.sqrt(sum(value**2 for value in found) + mpmath.mpf(encoding.epsilon))
    return [value / length for value in found]


def strength(encoding, head, params, x):
    return 2 * _sigmoid(_dot(params["beta_weight"][head], x) + mpmath.mpf(params["beta_bias"][head]))


def reflections(encoding, head, query, keys, index, params, x):
    """(w, β) of the keys behind this one, up to the query, in their order."""
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    for place, i in enumerate(order):
        if keys[index] < keys[i] <= query:
            rows = [x[j] for j in order[max(0, place - encoding.taps + 1) : place + 1]]
            yield direction(encoding, head, params, rows), strength(encoding, head, params, x[i])


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        left = [mpmath.mpf(value) for value in ks[index]]
        for w, beta in reflections(encoding, head, query, keys, index, params, x):
            seen = _dot(w, left)
            left = [value - beta * seen * own for value, own in zip(left, w, strict=True)]
        return (_dot(q, left) - _dot(q, ks[index])) / mpmath.sqrt(encoding.dim)


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size. A system of m equations with unit diagonal and entries below 2 is solved, whose inverse has
    entries below 2 too (no product of reflections lengthens a vector): m² products of size 4, each off by what w is
    off, and w is off by its sums over their length, which no input here makes smaller than a thousandth of them."""
    count = len(keys)
    sums = encoding.model_dim + encoding.rank + encoding.taps + encoding.dim + 16
    size = mpmath.sqrt(_dot(q, q) * _dot(ks[index], ks[index]) / encoding.dim)
    return 4 * count**2 * sums * size


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
