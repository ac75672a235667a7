"""Shaw et al. 2018, eq. 3 and 4, with the clipping of §3.2."""

import mpmath


def _relation(record, query, key):
    """Which learned vector stands for the step from the query to the key."""
    step = key - query
    ahead = getattr(record, "ahead", None)
    ahead = record.clip if ahead is None else ahead
    if step > ahead:
        step = ahead
    if step < -record.clip:
        step = -record.clip
    return record.clip + step


def score(record, head, q, k, query, key, params):
    with mpmath.workprec(240):
        vector = params["relative_keys"][_relation(record, query, key)]
        product = sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(q, vector, strict=True))
        return product / mpmath.sqrt(record.dim)


def value(record, weights, query, keys, params):
    """What is added to the output of one query: the sum over keys of weight times learned vector."""
    with mpmath.workprec(240):
        total = [mpmath.mpf(0) for _ in range(record.dim)]
        for weight, key in zip(weights, keys, strict=True):
            vector = params["relative_values"][_relation(record, query, key)]
            total = [mpmath.mpf(weight) * mpmath.mpf(part) + old for part, old in zip(vector, total, strict=True)]
        return total
