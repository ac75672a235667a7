"""WavLM's gate: a gated unit of the share of a head of the layer's input, times the bias."""

import mpmath

from oracles import dape


def _gate(encoding, head, params, x):
    share = x[head * encoding.dim : (head + 1) * encoding.dim]
    channels = [
        dape.dot(weights, share) + mpmath.mpf(level)
        for weights, level in zip(params["weight"], params["bias"], strict=True)
    ]
    a, b = (1 / (1 + mpmath.exp(-sum(part))) for part in (channels[:4], channels[4:]))
    return a * (b * mpmath.mpf(params["constant"][head]) - 1) + 2


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        return _gate(encoding, head, params, x) * dape.inner_bias(encoding, head, query, keys[index], params)


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size: a gate of up to 2 + constant reads sums of four products each."""
    share = [abs(value) for value in x[head * encoding.dim : (head + 1) * encoding.dim]]
    inner = 8 * (1 + sum(share) * max(abs(w) for weights in params["weight"] for w in weights))
    gate = 2 + abs(params["constant"][head])
    return (encoding.dim + 16) * inner * gate * abs(dape.inner_bias(encoding, head, query, keys[index], params))


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
