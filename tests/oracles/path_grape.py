"""GRAPE-AP (Zhang et al. 2025, the authors' code): the logarithms of one query's gates, from after a key up to the
query."""

import mpmath


def dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def slope(heads, head):
    """Press et al. 2022: powers of 2^(-8/H) for a power of two, else those of the one below and every second of twice
    it."""
    below = 1 << (heads.bit_length() - 1)
    if head < below:
        return mpmath.power(2, mpmath.mpf(-8 * (head + 1)) / below)
    return mpmath.power(2, mpmath.mpf(-8 * (2 * (head - below) + 1)) / (2 * below))


def gates(encoding, head, query, keys, index, params, x):
    """Logits of the gates of the keys after this one; x[0] is the query's input, those of the keys follow."""
    asked, half = [dot(weights, x[0]) for weights in params["W"][head]], encoding.width // 2
    for own, key in zip(x[1:], keys, strict=True):
        if keys[index] < key <= query:
            p = [dot(weights, own) for weights in params["W"][head]]
            rms = mpmath.sqrt(dot(p, p) / encoding.width + mpmath.mpf(encoding.epsilon))
            wave = mpmath.expj(-mpmath.mpf(key))
            rotated = [mpmath.mpc(p[i], p[half + i]) / rms * wave for i in range(half)]
            yield dot(asked, [z.real for z in rotated] + [z.imag for z in rotated]) / encoding.width


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        found = gates(encoding, head, query, keys, index, params, x)
        return -slope(encoding.heads, head) * sum((mpmath.log1p(mpmath.exp(-z)) for z in found), mpmath.mpf(0))


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size: a sum of all keys, each no larger than 1 and its logit: |p_m| by √width, divided by the
    width.

    What p̂ is made of may cancel, and then all of its direction is lost in proportion."""
    largest = max(abs(w) for rows in params["W"] for row in rows for w in row)
    asked, terms = sum(abs(a) for a in x[0]) * largest, 0
    for own in x[1:]:
        p = [dot(weights, own) for weights in params["W"][head]]
        rms = mpmath.sqrt(dot(p, p) / encoding.width + mpmath.mpf(encoding.epsilon))
        terms += 1 + asked * (1 + sum(abs(a) for a in own) * largest / rms)
    return (2 * encoding.model_dim + encoding.width + len(keys) + 16) * terms


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
