"""Selective RoPE (Movahedi et al. 2025): the angles of the keys up to a place, written out and added, pair by pair."""

from functools import lru_cache

import mpmath


def _dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def normed(encoding, x):
    """The input, each head's share of it divided by its length."""
    share, made = encoding.model_dim // encoding.heads, []
    for head in range(encoding.heads):
        part = [mpmath.mpf(value) for value in x[head * share : (head + 1) * share]]
        length = mpmath.sqrt(sum(value**2 for value in part) + mpmath.mpf(encoding.epsilon))
        made += [value / length for value in part]
    return made


def lows(encoding, params, x, size=False):
    """w_in·x̂ of one key; with `size`, the sum of what each number is made of."""
    own = normed(encoding, x)
    products = [[mpmath.mpf(w) * value for w, value in zip(weights, own, strict=True)] for weights in params["w_in"]]
    return [sum(map(abs, row)) if size else sum(row) for row in products]


def angle(encoding, head, pair, params, rows, gate=1, size=False):
    """What the last of these keys, given by their `lows`, adds to the angle of a pair."""
    total = mpmath.mpf(0)
    for back, low in enumerate(reversed(rows)):
        tap = mpmath.mpf(params["filter"][head][pair][encoding.taps - 1 - back])
        terms = [mpmath.mpf(w) * value * tap for w, value in zip(params["w_out"][head][pair], low, strict=True)]
        total += sum(map(abs, terms)) if size else sum(terms)
    return total * gate * mpmath.power(mpmath.mpf(encoding.base), mpmath.mpf(-2 * pair) / encoding.dim)


def gate_of(encoding, head, params, x):
    if not encoding.gated:
        return 1
    logit = _dot(params["gate_weight"][head], normed(encoding, x)) + mpmath.mpf(params["gate_bias"][head])
    return 1 / (1 + mpmath.exp(-logit))


def frozen(value):
    """Lists as tuples and tables as pairs, so that what was worked out of them is found again."""
    pairs = sorted(value.items()) if isinstance(value, dict) else value
    return tuple(map(frozen, pairs)) if isinstance(pairs, list | tuple) else pairs


@lru_cache(maxsize=16)
def added(encoding, head, keys, learned, x, size, precision):
    """What each key adds to the angle of every pair, with its place, in the order of places."""
    params = dict(learned)
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    rows = [lows(encoding, params, x[i], size) for i in order]
    found = []
    for at, i in enumerate(order):
        gate, near = gate_of(encoding, head, params, x[i]), rows[max(0, at - encoding.taps + 1) : at + 1]
        pairs = range(encoding.dim // 2)
        found.append((keys[i], [angle(encoding, head, pair, params, near, gate, size) for pair in pairs]))
    return found


def sums(encoding, head, places, keys, params, x, size=False):
    """The angle of every pair at each of these places."""
    steps = added(encoding, head, frozen(keys), frozen(params), frozen(x), size, mpmath.mp.prec)
    seen = [[angles for at, angles in steps if at <= place] for place in places]
    return [
        [sum((angles[pair] for angles in some), mpmath.mpf(0)) for pair in range(encoding.dim // 2)] for some in seen
    ]


def rotated(x, angles):
    half = len(angles)
    numbers = [mpmath.mpc(x[i], x[half + i]) * mpmath.expj(angles[i]) for i in range(half)]
    return [number.real for number in numbers] + [number.imag for number in numbers]


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        there, here = sums(encoding, head, (query, keys[index]), keys, params, x)
        return (_dot(rotated(q, there), rotated(ks[index], here)) - _dot(q, ks[index])) / mpmath.sqrt(encoding.dim)


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size: the products of q and k, and their angles, off by the roundings of the sums they are made
    of."""
    length = mpmath.sqrt(_dot(q, q) * _dot(ks[index], ks[index]) / encoding.dim)
    angles = sum(map(max, sums(encoding, head, (query, keys[index]), keys, params, x, True)))
    terms = encoding.model_dim + encoding.rank + encoding.taps + len(keys) + 16
    return length * (encoding.dim + 16 + angles * terms)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
