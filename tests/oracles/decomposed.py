"""Li et al. 2022 (MViTv2), as in ViTDet and SAM: the unscaled query scores the distance of each axis, and the scores
add."""

from fractions import Fraction


def rows(record, query, key, params):
    for axis, (size, m, n) in enumerate(zip(record.size, query, key, strict=True)):
        yield params[f"axis_{axis}"][max(1 - size, min(size - 1, int(m) - int(n))) + size - 1]


def score_among(record, head, q, ks, query, keys, index, params, x):
    found = rows(record, query, keys[index], params)
    return sum(Fraction(a) * Fraction(b) for row in found for a, b in zip(q, row, strict=True))


def magnitude(record, head, q, ks, query, keys, index, params, x):
    """A product and a sum for each channel and axis."""
    found = rows(record, query, keys[index], params)
    size = sum(abs(a * b) for row in found for a, b in zip(q, row, strict=True))
    return (record.dim + len(record.size)) * size


def value(record, weights, query, keys, params):
    """Nothing is added to the output."""
    return
