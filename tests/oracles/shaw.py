"""Shaw et al. 2018, eq. 3 and 4, with the clipping of §3.2."""

import mpmath


def _relation(encoding, query, key):
    """Which learned vector stands for the step from the query to the key."""
    step = key - query
    ahead = getattr(encoding, "ahead", None)
    ahead = encoding.clip if ahead is None else ahead
    if step > ahead:
        step = ahead
    if step < -encoding.clip:
        step = -encoding.clip
    return encoding.clip + step


def score(encoding, head, q, k, query, key, params):
    with mpmath.workprec(240):
        vector = params["relative_keys"][_relation(encoding, query, key)]
        product = sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(q, vector, strict=True))
        return product / mpmath.sqrt(encoding.dim)


def value(encoding, weights, query, keys, params):
    """What is added to the output of one query: the sum over keys of weight times learned vector."""
    with mpmath.workprec(240):
        total = [mpmath.mpf(0) for _ in range(encoding.dim)]
        for weight, key in zip(weights, keys, strict=True):
            vector = params["relative_values"][_relation(encoding, query, key)]
            total = [mpmath.mpf(weight) * mpmath.mpf(part) + old for part, old in zip(vector, total, strict=True)]
        return total
