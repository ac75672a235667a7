"""Zheng et al. 2024 (DAPE): the bias, and a network of one hidden layer over the logits and biases of all heads."""

import mpmath

from oracles import within

LEAK = mpmath.mpf("0.01")


def inner_bias(encoding, head, query, key, params):
    own = within.own(params, "inner")
    return mpmath.mpf(within.oracle(encoding.encoding).bias(encoding.encoding, head, query, key, own))


def dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def logit(encoding, q, k):
    return dot(q, k) / mpmath.sqrt(encoding.dim)


def leaky(x):
    return x if x >= 0 else LEAK * x


def score_of(encoding, head, logits, biases, params):
    """One pair of places: the logits and the biases of all heads are given."""
    hidden = [
        leaky(dot(weights, [*logits, *biases]) + mpmath.mpf(level))
        for weights, level in zip(params["weight_in"], params["bias_in"], strict=True)
    ]
    return biases[head] + dot(params["weight_out"][head], hidden) + mpmath.mpf(params["bias_out"][head])


def size_of(encoding, logits, biases, params):
    """The sum of the magnitudes of all that is added."""
    inner = sum(abs(value) for value in (*logits, *biases)) + 1
    largest = max(abs(w) for weights in params["weight_in"] for w in [*weights, *params["bias_in"]])
    outer = max(abs(w) for weights in params["weight_out"] for w in [*weights, *params["bias_out"]])
    return max(abs(value) for value in biases) + encoding.width * outer * (inner * largest + 1)


def score_heads(encoding, head, qs, ks, query, keys, index, params):
    """As all heads are read, their queries and keys are given: qs[head], ks[head][place]."""
    with mpmath.workprec(240):
        logits = [logit(encoding, q, k[index]) for q, k in zip(qs, ks, strict=True)]
        biases = [inner_bias(encoding, number, query, keys[index], params) for number in range(encoding.encoding.heads)]
        return score_of(encoding, head, logits, biases, params)


def magnitude_heads(encoding, head, qs, ks, query, keys, index, params):
    """Roundings times size: a logit is a sum of `dim` products, a bias is good to 8 units, then two sums."""
    with mpmath.workprec(240):
        logits = [logit(encoding, [abs(a) for a in q], [abs(b) for b in k[index]]) for q, k in zip(qs, ks, strict=True)]
        biases = [inner_bias(encoding, number, query, keys[index], params) for number in range(encoding.encoding.heads)]
        roundings = encoding.dim + 2 * encoding.encoding.heads + encoding.width + 16
        return roundings * size_of(encoding, logits, biases, params)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
