"""A single sine of the position: a naive encoding for teaching."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.frequencies import Divisors
from posenc.phase import cos_sin


@dataclass(frozen=True)
class OneSine(AdditiveEncoding):
    """embed(p) = sin(p), one channel.

    The notes' third step, bounded and smooth. Its flaws: two positions may have almost the same value, and the value
    does not show whether the sine rises or falls, so a shift is not a linear map of it.

    Positions (*batch, n), integers or float32/float64, in radians; result (*batch, n, 1).

    Raises:
        ValueError: `positions` breaks its rule; the message names it.
        TypeError: `positions` has the wrong type.

    Example:
        >>> OneSine().embed([2, 3, 4]).round(4).tolist()
        [[0.9093], [0.1411], [-0.7568]]
    """

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional"})

    @property
    def width(self) -> int:
        return 1

    @cached_property
    def frequencies(self) -> Divisors:
        """Frequency of one radian a step."""
        return Divisors((1.0,))

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        return cos_sin(positions, self.frequencies, dtype)[1]


ROW = Row(
    OneSine,
    (OneSine(),),
    "no paper: the notes' third idea",
    (),
    "To see that a bounded value alone is not unique.",
)
