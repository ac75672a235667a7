"""Dai et al. 2019, §3.3: terms b, c and d, with the sinusoid of the distance written out."""

import mpmath


def sinusoid(encoding, distance):
    """R_distance: all sines, then all cosines, as the authors' code lays them out."""
    pairs = encoding.model_dim // 2
    angles = [
        mpmath.mpf(distance) / mpmath.power(mpmath.mpf(encoding.base), mpmath.mpf(2 * i) / encoding.model_dim)
        for i in range(pairs)
    ]
    return [mpmath.sin(angle) for angle in angles] + [mpmath.cos(angle) for angle in angles]


def score(encoding, head, q, k, query, key, params):
    with mpmath.workprec(240):
        waves = sinusoid(encoding, mpmath.mpf(query) - mpmath.mpf(key))
        weight = params["W_R"][head]
        of_position = [
            sum(waves[row] * mpmath.mpf(weight[row][column]) for row in range(encoding.model_dim))
            for column in range(encoding.dim)
        ]
        asks = sum(mpmath.mpf(a) * b for a, b in zip(q, of_position, strict=True))
        content = sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(params["u"][head], k, strict=True))
        place = sum(mpmath.mpf(a) * b for a, b in zip(params["v"][head], of_position, strict=True))
        return (asks + content + place) / mpmath.sqrt(encoding.dim)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
