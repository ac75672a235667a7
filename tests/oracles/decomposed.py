"""Li et al. 2022 (MViTv2), as in ViTDet and SAM: the unscaled query scores the distance of each axis, and the scores
add."""

from fractions import Fraction


def rows(encoding, query, key, params):
    for axis, (size, m, n) in enumerate(zip(encoding.size, query, key, strict=True)):
        yield params[f"axis_{axis}"][max(1 - size, min(size - 1, int(m) - int(n))) + size - 1]


def score_among(encoding, head, q, ks, query, keys, index, params, x):
    found = rows(encoding, query, keys[index], params)
    return sum(Fraction(a) * Fraction(b) for row in found for a, b in zip(q, row, strict=True))


def magnitude(encoding, head, q, ks, query, keys, index, params, x):
    """A product and a sum for each channel and axis."""
    found = rows(encoding, query, keys[index], params)
    size = sum(abs(a * b) for row in found for a, b in zip(q, row, strict=True))
    return (encoding.dim + len(encoding.size)) * size


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
