"""Numbers that a user's own function gave, which a recipe or a bias must explain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from posenc.diagnosis.code.recipe import Door, Recipe
from posenc.diagnosis.code.user_code import POSITIONS

#: For each type: what a value's rounding may change, and what an angle's may, a step of position and unit of frequency.
#: An angle p·ω formed in a type of rounding u, with ω = exp(-x) from x itself rounded, is off by at most
#: p·ω·(2x + 2)·u, which is below 2·p·u for ω ≤ 1; a third u is for positions and function.
VALUE_AND_ANGLE_ROUNDING = {
    "float64": (1e-9, 16 * 2.0**-53),
    "float32": (1e-6, 3 * 2.0**-24),
    "float16": (2.0**-10, 3 * 2.0**-24),
    "bfloat16": (2.0**-8, 3 * 2.0**-24),
}
#: Where rounding alone may change a value by more than this, the value shows nothing and is left out.
LARGEST_TOLERANCE = 0.05
#: So many positions must be left, or nothing is concluded.
ENOUGH = 16
#: Positions of a first look.
FIRST = 4


@dataclass(frozen=True, eq=False)
class ObservedValues:
    """A table (n, dim) or rotations (n, dim, dim) at positions (n,), as float64.

    Args:
        door: "adds" for a table, "rotates" for rotations.
        positions: (n,).
        values: (n, dim) or (n, dim, dim).
        dtype: Name of the type that they came in.
        length: How many positions were asked for at once, 0 for one by one.
        precision: Type whose rounding is tolerated.
    """

    door: Door
    positions: np.ndarray
    values: np.ndarray
    dtype: str = "float64"
    length: int = 0
    precision: str = "float64"

    @property
    def dim(self) -> int:
        return int(self.values.shape[-1])

    def at_each_precision(self) -> list[ObservedValues]:
        """The same numbers, with the rounding of each type that they may have been computed in."""
        narrow = self.dtype in ("float16", "bfloat16", "float32")
        return [replace(self, precision=name) for name in ((self.dtype,) if narrow else ("float64", "float32"))]

    def fits(self, recipe: Recipe, exact: bool = True) -> bool:
        """Whether the recipe gives the numbers; the first few alone where `exact` is False."""
        part = self if exact else self._first
        fastest = float(np.abs(recipe.frequencies(self.dim)).max())
        return part.agrees(recipe.values(part.positions, self.dim), fastest)

    def agrees(self, expected: np.ndarray, fastest: float = 1.0) -> bool:
        """Whether every significant number is the expected one; `fastest`: highest frequency, in radians a step."""
        right, significant = self._right_and_significant(expected, fastest)
        return bool(significant.sum() >= min(ENOUGH, len(significant)) and right[significant].all())

    def right_rows(self, expected: np.ndarray, fastest: float = 1.0) -> np.ndarray:
        """Whether each position (n,) has the expected numbers, as far as they are significant."""
        right, significant = self._right_and_significant(expected, fastest)
        return np.asarray(right | ~significant)

    def _right_and_significant(self, expected: np.ndarray, fastest: float) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(all="ignore"):
            size = max(1.0, float(np.abs(expected).max()))
            tolerance = size * self.tolerance(fastest)
            close = np.abs(self.values - expected) <= tolerance.reshape((-1,) + (1,) * (expected.ndim - 1))
            close |= np.isnan(self.values) & np.isnan(expected)
        return close.reshape(len(close), -1).all(1), tolerance <= LARGEST_TOLERANCE * size

    def tolerance(self, fastest: float) -> np.ndarray:
        """How far rounding may move a value of size 1 at each position; shape (n,)."""
        value, angle = VALUE_AND_ANGLE_ROUNDING[self.precision]
        return value + angle * np.abs(self.positions + 1.0) * max(1.0, fastest)

    @cached_property
    def _first(self) -> ObservedValues:
        return replace(self, positions=self.positions[:FIRST], values=self.values[:FIRST])

    @cached_property
    def sampled_rows(self) -> np.ndarray:
        """Mask (n,) of the positions on which mistakes are searched for."""
        return np.isin(self.positions, POSITIONS)

    @property
    def sampled(self) -> ObservedValues:
        """The same at `POSITIONS` alone."""
        return replace(self, positions=self.positions[self.sampled_rows], values=self.values[self.sampled_rows])


@dataclass(frozen=True, eq=False)
class ProbedBias:
    """Biases (heads, n, n) of positions 0 to n-1, as float64, and the type that they came in."""

    values: np.ndarray
    dtype: str
    door: ClassVar[str] = "biases"

    @property
    def heads(self) -> int:
        return len(self.values)
