"""Attention with linear biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from posenc import _array, _check
from posenc._array import Array
from posenc.doors import Biases, Claim, Params
from posenc.positions.distance import steps


@dataclass(frozen=True)
class ALiBi(Biases):
    """bias(h, m, n) = -slope_h · |m - n|, slope_h = 2^(-8(h+1)/heads) for a power of two of heads.

    Press et al. 2022, arXiv:2108.12409, §3. For another number of heads, the rule of the authors' code: the slopes of the
    power of two below, then every second slope of the power of two above.

    heads: how many heads the layer has.   steepest: the 8 of the formula (`alibi_bias_max` in MPT).

    Positions broadcast; distances in steps; the result has no unit. Raises ValueError or TypeError naming the argument.

    >>> ALiBi(heads=8).matrix([2], [0, 1, 2])[:2].tolist()
    [[[-1.0, -0.5, 0.0]], [[-0.5, -0.25, 0.0]]]
    """

    steepest: float = 8.0

    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    def __post_init__(self) -> None:
        _check.settle(
            self,
            heads=_check.integer("heads", self.heads, 1, 1 << 16),
            steepest=_check.real("steepest", self.steepest, 0.0, 64.0, above=True),
        )

    def slopes(self) -> np.ndarray:
        """One positive slope a head, as float64; shape (heads,)."""
        below = 1 << int(math.log2(self.heads))
        extra = _geometric(2 * below, self.steepest)[0::2][: self.heads - below]
        return np.concatenate([_geometric(below, self.steepest), extra])

    def bias(self, head: Array, query: Array, key: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        self.checked(params)
        query, key = _array.as_arrays(query=query, key=key)
        dtype = _array.result_dtype(dtype, query)
        distance = _array.namespace(query).abs(steps(query, key, dtype))
        slopes = _array.constant(_slopes(self), distance, distance.dtype)
        # Taken from zero, so that a token's bias towards itself is 0.0 and not -0.0.
        return _array.astype(0.0 - slopes[self.head_index(head, distance)] * distance, dtype)


@_array.host
def _slopes(record: ALiBi) -> np.ndarray:
    return record.slopes()


def _geometric(count: int, steepest: float) -> np.ndarray:
    return np.exp2(-steepest * np.arange(1, count + 1) / count)
