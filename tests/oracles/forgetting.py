"""Lin et al. 2025, §3: the logarithm of the product of the forget gates between two places."""

import mpmath


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        kept = mpmath.mpf(1)
        for own, key in zip(x, keys, strict=True):
            if keys[index] < key <= query:
                weights = params["W"][head]
                logit = mpmath.mpf(params["c"][head]) + sum(
                    mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(weights, own, strict=True)
                )
                kept *= 1 / (1 + mpmath.exp(-logit))
        return mpmath.log(kept)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
