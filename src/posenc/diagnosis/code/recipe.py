"""How a table or a rotation is computed, in the parameters that are easily got wrong.

A published convention is one recipe; a mistake is a change of one. Plain float64 throughout: this models a user's own
code, not the exact encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posenc.core.rotation import PairLayout
from posenc.inspect.rounding import NarrowType, narrowed

Door = Literal["adds", "rotates"]
Rounded = Literal["positions", "frequencies", "angles", "values"]
Rule = Callable[[float, np.ndarray, np.ndarray, int], np.ndarray]

#: The frequency of a channel from the base, the number of its pair, its own number and the width.
FREQUENCY_RULES: Mapping[str, Rule] = {
    "2i/d": lambda base, pair, channel, dim: base ** (-2 * pair / dim),
    "i/(d/2-1)": lambda base, pair, channel, dim: base ** (-pair / (dim // 2 - 1)),
    "i/d": lambda base, pair, channel, dim: base ** (-pair / dim),
    "4i/d": lambda base, pair, channel, dim: base ** (-4 * pair / dim),
    "c/d": lambda base, pair, channel, dim: base ** (-channel / dim),
    "2c/d": lambda base, pair, channel, dim: base ** (-2 * channel / dim),
    "2(i+1)/d": lambda base, pair, channel, dim: base ** (-2 * (pair + 1) / dim),
    "2i/(d-1)": lambda base, pair, channel, dim: base ** (-2 * pair / (dim - 1)),
    "2i": lambda base, pair, channel, dim: base ** (-2 * pair),
    "i": lambda base, pair, channel, dim: base ** (-pair),
    "2i//d": lambda base, pair, channel, dim: base ** (-(2 * pair // dim)),
    "p/b^2*i/d": lambda base, pair, channel, dim: pair / (dim * base**2),
    "p/b^(2i)/d": lambda base, pair, channel, dim: base ** (-2 * pair) / dim,
    "p/b*2i/d": lambda base, pair, channel, dim: 2 * pair / (dim * base),
    "(p/b)^(2i/d)": lambda base, pair, channel, dim: base ** (-2 * pair / dim),
    "-2i/d": lambda base, pair, channel, dim: base ** (2 * pair / dim),
    "linear": lambda base, pair, channel, dim: 1 - pair / (dim // 2 - 1) * (1 - 1 / base),
}


@dataclass(frozen=True)
class Recipe:
    """Everything that decides one number of a table, or of a rotation.

    Args:
        door: "adds" for a table, "rotates" for rotations.
        base: Base of the frequencies.
        rule: Key of `FREQUENCY_RULES`.
        frequency_order: Which pair's frequency a channel takes, c//2 ("adjacent") or c mod d/2 ("halves").
        pair_order: Which channels belong together, in the same words: sine next to cosine, or the two of a rotation.
        functions: Functions of the two channels of a pair (adds), or of a channel itself and of its partner (rotates).
        signs: Signs of these functions (adds), or of the partner's part besides the minus that is right (rotates).
        angle_factor: Multiplies every angle.
        start: Added to positions.
        scale: Multiplies every value.
        fixed_width: Width in the exponent, where it is not that of the table; 0 for the table's own.
        in_reverse: Whether frequencies stand in reverse order.
        overwritten: Whether the second line reads the channel that the first line has written.
        pairs_itself: Whether a channel takes itself for its partner.
        table_length: Rows of a table that ends; 0 where it does not.
        beyond: Values beyond the end of the table: the last row, its rows again, or zeros.
        rounded: Quantities that are rounded to `dtype`.
        dtype: 16-bit type.
        whole: Whether values are cut to whole numbers.
        counted: Whether positions are counted from 0, whatever positions are given.
    """

    door: Door
    base: float = 10_000.0
    rule: str = "2i/d"
    frequency_order: PairLayout = "adjacent"
    pair_order: PairLayout = "adjacent"
    functions: tuple[str, str] = ("sine", "cosine")
    signs: tuple[float, float] = (1.0, 1.0)
    angle_factor: float = 1.0
    start: int = 0
    scale: float = 1.0
    fixed_width: int = 0
    in_reverse: bool = False
    overwritten: bool = False
    pairs_itself: bool = False
    table_length: int = 0
    beyond: Literal["", "stay", "repeat", "zero"] = ""
    rounded: tuple[Rounded, ...] = ()
    dtype: NarrowType = "bfloat16"
    whole: bool = False
    counted: bool = False

    def frequencies(self, dim: int) -> np.ndarray:
        """Radians a step of every channel; shape (dim,)."""
        channel = np.arange(dim, dtype=np.float64)
        half = (dim + 1) // 2
        pair = channel // 2 if self.frequency_order == "adjacent" else channel % half
        if self.in_reverse:
            pair = half - 1 - pair
        frequencies = FREQUENCY_RULES[self.rule](float(self.base), pair, channel, self.fixed_width or dim)
        return self._rounded("frequencies", frequencies * self.angle_factor)

    def values(self, positions: np.ndarray, dim: int) -> np.ndarray:
        """The table (n, dim), or the rotations (n, dim, dim), at positions (n,)."""
        with np.errstate(all="ignore"):
            used = self._positions(positions)
            if self.rule == "(p/b)^(2i/d)":
                used = used ** (2 * (np.arange(dim) // 2) / dim)
            angles = self._rounded("angles", used * self.frequencies(dim))
            values = self._table(angles) if self.door == "adds" else self._rotations(angles)
            if self.beyond == "zero":
                values[positions >= self.table_length] = 0.0
            values = self._rounded("values", values * self.scale)
            return np.trunc(values) if self.whole else values

    def second_of_pair(self, dim: int) -> np.ndarray:
        """Mask of the channels that are the second of their pair; shape (dim,)."""
        channel = np.arange(dim)
        return channel % 2 == 1 if self.pair_order == "adjacent" else channel >= (dim + 1) // 2

    def _rounded(self, what: Rounded, values: np.ndarray) -> np.ndarray:
        return narrowed(values, self.dtype) if what in self.rounded else values

    def _positions(self, positions: np.ndarray) -> np.ndarray:
        """The positions that are used, (n, 1)."""
        given = np.arange(len(positions)) if self.counted else positions
        used = given.astype(np.float64)[:, None] + self.start
        if self.beyond == "stay":
            used = np.minimum(used, self.table_length - 1)
        if self.beyond == "repeat":
            used = used % self.table_length
        return self._rounded("positions", used)

    def _functions(self, angles: np.ndarray) -> list[np.ndarray]:
        return [np.sin(angles) if name == "sine" else np.cos(angles) for name in self.functions]

    def _table(self, angles: np.ndarray) -> np.ndarray:
        first, second = (sign * part for sign, part in zip(self.signs, self._functions(angles), strict=True))
        return np.where(self.second_of_pair(angles.shape[-1]), second, first)

    def _rotations(self, angles: np.ndarray) -> np.ndarray:
        count, dim = angles.shape
        channel, second = np.arange(dim), self.second_of_pair(dim)
        step = 1 if self.pair_order == "adjacent" else dim // 2
        partner = channel if self.pairs_itself else np.where(second, channel - step, channel + step)
        of_channel, across = self._functions(angles)
        values = np.zeros((count, dim, dim))
        values[:, channel, channel] = of_channel
        values[:, channel, partner] += np.where(second, self.signs[1], -self.signs[0]) * across
        if self.overwritten:
            last = channel[second]
            read = across[:, last, None] * values[:, partner[last]]
            values[:, last] = of_channel[:, last, None] * np.eye(dim)[last] + read
        return values
