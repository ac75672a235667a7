"""Fuller et al. 2023 (2D-ALiBi): ALiBi's slope times the length of the straight line between two patches."""

import mpmath

from oracles import alibi

#: The slope and its power of two, the squares and their sum, half of which a root passes on, and two products.
ULPS = 8.0


class _Slopes:
    def __init__(self, heads):
        self.heads, self.steepest, self.rule = heads, 8, "paper"


def bias(encoding, head, query, key, params=None):
    with mpmath.workprec(400):
        squares = [(mpmath.mpf(m) - mpmath.mpf(n)) ** 2 for m, n in zip(query, key, strict=True)]
        return -alibi.slope(_Slopes(encoding.heads), head) * mpmath.sqrt(sum(squares))
