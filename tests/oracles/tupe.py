"""Ke et al. 2021 (TUPE), in the authors' code: a product of projected positions, and numbers of its own for the class
token, position 0."""

import mpmath

from oracles import t5_bias


def _dot(left, right):
    return sum((mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(left, right, strict=True)), mpmath.mpf(0))


def normal(encoding, vector, params):
    mean = sum(map(mpmath.mpf, vector)) / len(vector)
    variance = sum((mpmath.mpf(x) - mean) ** 2 for x in vector) / len(vector)
    scaled = [(mpmath.mpf(x) - mean) / mpmath.sqrt(variance + mpmath.mpf(encoding.epsilon)) for x in vector]
    pairs = zip(scaled, params["norm_weight"], params["norm_bias"], strict=True)
    return [x * mpmath.mpf(weight) + mpmath.mpf(bias) for x, weight, bias in pairs]


def projected(encoding, head, row, side, params):
    x = normal(encoding, params["positions"][row], params)
    channels = range(head * encoding.dim, (head + 1) * encoding.dim)
    return [_dot(params[f"{side}_weight"][c], x) + mpmath.mpf(params[f"{side}_bias"][c]) for c in channels]


def rows(query, key):
    """The rows of the learned vectors that stand for a query and a key."""
    if query == 0:
        return 0, 0
    return (1, 1) if key == 0 else (query + 1, key + 1)


def bucket(encoding, query, key):
    if query == 0:
        return encoding.buckets // 2
    return encoding.buckets if key == 0 else t5_bias.bucket(_T5(encoding), key - query)


class _T5:
    def __init__(self, encoding):
        self.buckets, self.max_distance, self.bidirectional = encoding.buckets, encoding.max_distance, True


def bias(encoding, head, query, key, params):
    query, key = int(query), int(key)
    with mpmath.workprec(240):
        asked, asking = rows(query, key)
        product = _dot(
            projected(encoding, head, asked, "query", params), projected(encoding, head, asking, "key", params)
        )
        total = product / mpmath.sqrt(2 * encoding.dim)
        return total + mpmath.mpf(params["table"][bucket(encoding, query, key)][head]) if encoding.relative else total


def magnitude(encoding, head, query, key, params):
    """Roundings times size: a norm, a projection and a product, each of as many terms as it has channels."""
    sizes, width = [], encoding.heads * encoding.dim
    for row, side in zip(rows(int(query), int(key)), ("query", "key"), strict=True):
        x = normal(encoding, params["positions"][row], params)
        spread = max(abs(float(value)) for value in params["positions"][row])
        deviation = float(mpmath.sqrt(sum(mpmath.mpf(v) ** 2 for v in params["positions"][row]) / width))
        loss = 1 + spread / max(deviation, float(mpmath.sqrt(mpmath.mpf(encoding.epsilon))))
        channels = range(head * encoding.dim, (head + 1) * encoding.dim)
        weights = [params[f"{side}_weight"][c] for c in channels]
        sizes.append([loss * sum(abs(w * v) for w, v in zip(row_of, x, strict=True)) + 1 for row_of in weights])
    product = sum(a * b for a, b in zip(*sizes, strict=True)) / mpmath.sqrt(2 * encoding.dim)
    return (4 * width + encoding.dim + 16) * product + 1
