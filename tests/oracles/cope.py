"""Golovneva et al. 2024, eq. 3 to 5, with the gates and the table of appendix B."""

import mpmath


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        counted = mpmath.mpf(0)
        for k, key in zip(ks, keys, strict=True):
            if keys[index] <= key <= query:
                logit = sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(q, k, strict=True)) / mpmath.sqrt(
                    encoding.dim
                )
                counted += 1 / (1 + mpmath.exp(-logit))
        counted = min(counted, mpmath.mpf(encoding.rows - 1))
        low, high = int(mpmath.floor(counted)), int(mpmath.ceil(counted))
        at = [
            sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(q, params["table"][row], strict=True))
            for row in (low, high)
        ]
        return at[0] + (counted - low) * (at[1] - at[0])


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
