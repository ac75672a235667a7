"""Raffel et al. 2020, §2.1, with the buckets of the authors' code, its logarithm to 240 bits."""

import mpmath


def bucket(encoding, distance):
    """The bucket of key - query."""
    count, first = encoding.buckets, 0
    if encoding.bidirectional:
        count //= 2
        first = count if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(0, -distance)
    exact = count // 2
    if distance < exact:
        return first + distance
    with mpmath.workprec(240):
        share = mpmath.log(mpmath.mpf(distance) / exact) / mpmath.log(mpmath.mpf(encoding.max_distance) / exact)
        steps = share * (count - exact)
        # A ratio of logarithms that is a whole number comes out a hair next to it.
        near = mpmath.nint(steps)
        whole = int(near) if abs(steps - near) < mpmath.mpf(2) ** -200 else int(mpmath.floor(steps))
    return first + min(count - 1, exact + whole)


def bias(encoding, head, query, key, params):
    return mpmath.mpf(params["table"][bucket(encoding, key - query)][head]) * mpmath.mpf(
        getattr(encoding, "scale", 1.0)
    )
