"""Chi et al. 2022 (Sandwich): cosines of the distance, summed and divided by the head's ratio."""

from functools import lru_cache

import mpmath


def bias(encoding, head, query, key, params=None):
    with mpmath.workprec(240):
        return waves(encoding, query, key) * encoding.heads / (8 * (head + 1))


@lru_cache(maxsize=4096)
def waves(encoding, query, key):
    """What all heads have in common."""
    with mpmath.workprec(240):
        distance = mpmath.mpf(query) - mpmath.mpf(key)
        total = mpmath.mpf(0)
        for wave in range(encoding.dim // 2):
            total += mpmath.cos(distance / mpmath.power(encoding.base, mpmath.mpf(2 * wave) / encoding.dim))
        return total


def magnitude(encoding, head, query, key, params=None):
    """Roundings times size: two waves good to 3.5 units and their product for each frequency, then a sum of so many."""
    count = encoding.dim // 2
    return (2 * count + 12) * count * encoding.heads / (8 * (head + 1))
