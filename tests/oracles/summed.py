"""Each part's own oracle, added up a channel at a time."""

import mpmath

from oracles import within


def terms(encoding, position, params):
    """The vectors that are added."""
    return [
        within.oracle(part).row(part, position, within.own(params, str(number)))
        for number, part in enumerate(encoding.parts)
    ]


def row(encoding, position, params=None):
    with mpmath.workprec(300):
        return [
            mpmath.fsum(map(mpmath.mpf, channel)) for channel in zip(*terms(encoding, position, params), strict=True)
        ]


def magnitude(encoding, position, params):
    """The sum of the sizes of what is added, which may cancel."""
    return [
        float(sum(abs(value) for value in channel)) for channel in zip(*terms(encoding, position, params), strict=True)
    ]
