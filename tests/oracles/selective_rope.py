"""Selective RoPE (Movahedi et al. 2025): the angles of the keys up to a place, written out and added, pair by pair."""

import mpmath


def _dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def normed(record, x):
    """The input, each head's share of it divided by its length."""
    share, made = record.model_dim // record.heads, []
    for head in range(record.heads):
        part = [mpmath.mpf(value) for value in x[head * share : (head + 1) * share]]
        length = mpmath.sqrt(sum(value**2 for value in part) + mpmath.mpf(record.epsilon))
        made += [value / length for value in part]
    return made


def angle(record, head, pair, params, rows, size=False):
    """What the last of these keys adds to the angle of a pair; with `size`, the sum of what it is made of."""
    total = mpmath.mpf(0)
    for back, x in enumerate(reversed(rows)):
        own = normed(record, x)
        low = [_dot(weights, own) for weights in params["w_in"]]
        tap = mpmath.mpf(params["filter"][head][pair][record.taps - 1 - back])
        if size:
            low = [
                sum(abs(mpmath.mpf(w) * value) for w, value in zip(weights, own, strict=True))
                for weights in params["w_in"]
            ]
            total += sum(
                abs(mpmath.mpf(w) * value * tap) for w, value in zip(params["w_out"][head][pair], low, strict=True)
            )
        else:
            total += _dot(params["w_out"][head][pair], low) * tap
    if record.gated:
        gate = _dot(params["gate_weight"][head], normed(record, rows[-1])) + mpmath.mpf(params["gate_bias"][head])
        total *= 1 / (1 + mpmath.exp(-gate))
    return total * mpmath.power(mpmath.mpf(record.base), mpmath.mpf(-2 * pair) / record.dim)


def sums(record, head, place, keys, params, x, size=False):
    """The angle of every pair at a place."""
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    found = [mpmath.mpf(0)] * (record.dim // 2)
    for at, i in enumerate(order):
        if keys[i] <= place:
            rows = [x[j] for j in order[max(0, at - record.taps + 1) : at + 1]]
            found = [total + angle(record, head, pair, params, rows, size) for pair, total in enumerate(found)]
    return found


def turned(x, angles):
    half = len(angles)
    numbers = [mpmath.mpc(x[i], x[half + i]) * mpmath.expj(angles[i]) for i in range(half)]
    return [number.real for number in numbers] + [number.imag for number in numbers]


def score_among(record, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        one = turned(q, sums(record, head, query, keys, params, x))
        two = turned(ks[index], sums(record, head, keys[index], keys, params, x))
        return (_dot(one, two) - _dot(q, ks[index])) / mpmath.sqrt(record.dim)


def magnitude(record, head, q, ks, query, keys, index, params, x):
    """Roundings times size: the products of q and k, and their angles, off by the roundings of the sums they are made of."""
    length = mpmath.sqrt(_dot(q, q) * _dot(ks[index], ks[index]) / record.dim)
    angles = sum(max(sums(record, head, place, keys, params, x, True)) for place in (query, keys[index]))
    terms = record.model_dim + record.rank + record.taps + len(keys) + 16
    return length * (record.dim + 16 + angles * terms)


def value(record, weights, query, keys, params):
    """Nothing is added to the output."""
    return
