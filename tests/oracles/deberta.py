"""He et al. 2021, eq. 4, with the rows and the buckets of the released code."""

import mpmath


def bucket(encoding, distance):
    """Signed bucket of a distance: exact near zero, logarithmic from half of the buckets on."""
    if encoding.max_distance is None:
        return distance
    mid = encoding.buckets // 2
    size = abs(distance)
    if size <= mid:
        return distance
    # ⌈(mid-1)·ln(size/mid) / ln((max-1)/mid)⌉ is the least step whose power of the whole is not passed.
    step = 0
    while size ** (mid - 1) * mid**step > (encoding.max_distance - 1) ** step * mid ** (mid - 1):
        step += 1
        if step > mid:
            break
    return (mid + step) * (1 if distance > 0 else -1)


def row(encoding, distance):
    return min(max(bucket(encoding, distance) + encoding.buckets, 0), 2 * encoding.buckets - 1)


def score(encoding, head, q, k, query, key, params):
    with mpmath.workprec(240):
        place, total, terms = row(encoding, query - key), mpmath.mpf(0), 1
        for name, content in (("position_keys", q), ("position_queries", k)):
            if name in params:
                terms += 1
                total += sum(
                    mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(content, params[name][head][place], strict=True)
                )
        return total / mpmath.sqrt(encoding.dim * terms)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
