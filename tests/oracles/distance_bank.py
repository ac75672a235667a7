"""The relative logits of Inkling: profiles over the distance, mixed by the input at the query."""

import mpmath


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    """x: the input of the layer at the query."""
    distance = query - keys[index]
    if distance < 0 or distance >= encoding.extent:
        return mpmath.mpf(0)
    with mpmath.workprec(240):
        total = mpmath.mpf(0)
        for profile in range(encoding.basis):
            mixed = sum(
                mpmath.mpf(x[i]) * mpmath.mpf(params["weights"][head][i][profile]) for i in range(encoding.model_dim)
            )
            total += mixed * mpmath.mpf(params["bank"][profile][distance])
        return total


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
