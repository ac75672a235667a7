"""Zhang et al. 2025 (additive GRAPE, gated): the distance times a slope that query and key set."""

from types import SimpleNamespace

import mpmath

from oracles import alibi
from oracles.dape import dot


def _slopes(record):
    return SimpleNamespace(heads=record.heads, steepest=8.0)


def _softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def _parts(record, head, q, k, params):
    """Length and logit of each gate."""
    for name, own in (("v", q), ("u", k)):
        if name in params:
            direction = [mpmath.mpf(a) for a in params[name][head]]
            length = max(mpmath.sqrt(dot(direction, direction)), mpmath.mpf("1e-6")) if record.normalised else 1
            yield [a / length for a in direction], own


def score_among(record, head, q, ks, query, keys, index, params, x):
    with mpmath.workprec(240):
        gates = sum(
            _softplus(dot(direction, own) / mpmath.sqrt(record.dim))
            for direction, own in _parts(record, head, q, ks[index], params)
        )
        slope = alibi.slope(_slopes(record), head) * _softplus(mpmath.mpf(params["omega"][head]))
        return -max(mpmath.mpf(query) - mpmath.mpf(keys[index]), 0) * slope * gates


def magnitude(record, head, q, ks, query, keys, index, params, x):
    """Roundings times size: a gate's logit is a sum of `dim` products, and softplus is no steeper than one."""
    with mpmath.workprec(240):
        size = sum(
            1 + dot([abs(a) for a in direction], [abs(b) for b in own])
            for direction, own in _parts(record, head, q, ks[index], params)
        )
        distance = max(mpmath.mpf(query) - mpmath.mpf(keys[index]), 0)
        slope = alibi.slope(_slopes(record), head) * (1 + abs(params["omega"][head]))
        return (2 * record.dim + 20) * distance * slope * size


def value(record, weights, query, keys, params):
    """Nothing is added to the output."""
    return
