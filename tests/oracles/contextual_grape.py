"""Contextual GRAPE (Zhang et al. 2025, the authors' code): the steps of the keys before a place added up, times each
frequency."""

import mpmath


def _dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def step(encoding, head, params, x):
    """The gate of one key: by how much time goes on. The authors' commit 431bad1 put a sigmoid for the softplus."""
    clock = head if encoding.own_clocks else 0
    logit = (_dot(params["W"][clock], x) + mpmath.mpf(params["c"][clock])) / mpmath.mpf(
        getattr(encoding, "gate_scale", 1)
    )
    return (
        1 / (1 + mpmath.exp(-logit))
        if getattr(encoding, "gate", "softplus") == "sigmoid"
        else mpmath.log1p(mpmath.exp(logit))
    )


def gone(encoding, head, place, keys, params, x):
    """The time that has gone when a place is reached."""
    return sum((step(encoding, head, params, x[i]) for i in range(len(keys)) if keys[i] < place), mpmath.mpf(0))


def rates(encoding, head, params):
    return [mpmath.exp(rate) for rate in params["log_frequencies"][head if encoding.own_frequencies else 0]]


def rotated(x, angles):
    half = len(angles)
    numbers = [mpmath.mpc(x[i], x[half + i]) * mpmath.expj(-angles[i]) for i in range(half)]
    return [number.real for number in numbers] + [number.imag for number in numbers]


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        there, here = (
            [gone(encoding, head, place, keys, params, x) * rate for rate in rates(encoding, head, params)]
            for place in (query, keys[index])
        )
        return (_dot(rotated(q, there), rotated(ks[index], here)) - _dot(q, ks[index])) / mpmath.sqrt(encoding.dim)


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size: the products of q and k, and the angles, off by the roundings of the sums they are made
    of."""
    length = mpmath.sqrt(_dot(q, q) * _dot(ks[index], ks[index]) / encoding.dim)
    clock = head if encoding.own_clocks else 0
    made = sum(
        1 + abs(params["c"][clock]) + sum(abs(w * v) for w, v in zip(params["W"][clock], one, strict=True)) for one in x
    )
    angles = 2 * made * sum(rates(encoding, head, params))
    return length * (encoding.dim + 16 + angles * (encoding.model_dim + len(keys) + 16))


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
