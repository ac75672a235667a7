"""Sine-cosine pairs with freely chosen divisors: the last teaching step before the sinusoidal encoding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.adds._pairs import arranged
from posenc.frequencies import Divisors
from posenc.frequencies.geometric import DIVISORS
from posenc.phase import cos_sin


@dataclass(frozen=True)
class DivisorPairs(AdditiveEncoding):
    """PE(p, 2i) = sin(p / divisors[i]), PE(p, 2i+1) = cos(p / divisors[i]).

    The notes' "River Bank": one pair repeats almost exactly after 710 steps; several pairs with different divisors
    repeat together much later. The sinusoidal encoding has divisors in a geometric progression.

    Positions (*batch, n), integers or float32/float64; divisors in steps a radian; result (*batch, n, 2·pairs).

    Args:
        divisors: One positive number a pair; `(1.0,)` is the single sine-cosine pair.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> DivisorPairs(divisors=(1.0, 2.0)).embed([0, 1]).round(4)
        array([[0.    , 1.    , 0.    , 1.    ],
               [0.8415, 0.5403, 0.4794, 0.8776]])
    """

    divisors: Annotated[tuple[float, ...], DIVISORS] = (1.0, 2.0, 3.0)

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    @property
    def width(self) -> int:
        return 2 * len(self.divisors)

    @cached_property
    def frequencies(self) -> Divisors:
        """Frequency of each pair."""
        return Divisors(self.divisors)

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        cosine, sine = cos_sin(positions, self.frequencies, dtype)
        return arranged(sine, cosine, len(self.divisors), "interleaved", positions.lib)


ROW = Row(
    DivisorPairs,
    (DivisorPairs(), DivisorPairs(divisors=(1.0,)), DivisorPairs(divisors=(0.5, 4.0, 30.0, 7.25))),
    "no paper: the notes' last step before the sinusoidal encoding",
    (),
    "To see how more pairs distinguish more positions, before the sinusoidal encoding.",
)
