"""Ying et al. 2021 (Graphormer): a row for each length of a shortest path."""


def distance(query, key):
    """Between nodes that are told by their rows of the distance matrix."""
    return max(abs(int(m) - int(n)) for m, n in zip(query, key, strict=True))


def bias(encoding, head, query, key, params):
    return params["table"][min(distance(query, key), encoding.rows - 1)][head]
