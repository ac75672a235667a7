"""x-transformers' per-row forgetting: the logarithms of one query's gates, from a key up to the query."""

import mpmath


def dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def _gates(encoding, head, query, keys, index, params, x):
    """Logits of the gates of the keys from this one on; x[0] is the query's input, those of the keys follow."""
    asked = [dot(weights, x[0]) for weights in params["W"][head]]
    for own, key in zip(x[1:], keys, strict=True):
        if keys[index] <= key < query:
            yield dot(asked, [dot(weights, own) for weights in params["U"][head]]) / mpmath.sqrt(encoding.width)


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        return -sum(mpmath.log1p(mpmath.exp(-z)) for z in _gates(encoding, head, query, keys, index, params, x))


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """Roundings times size: sums of all keys behind the query are added up before they are picked, each no larger than
    1 and its logit, whose terms are no larger than the product of the sums of magnitudes."""
    largest = max(abs(w) for name in ("W", "U") for rows in params[name] for row in rows for w in row)
    asked = sum(abs(a) for a in x[0]) * largest
    terms = [1 + encoding.width * asked * sum(abs(a) for a in own) * largest for own in x[1:]]
    return (2 * encoding.model_dim + encoding.width + len(keys) + 8) * sum(terms)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
