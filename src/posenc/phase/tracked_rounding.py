"""Float32 arithmetic followed with a bound on its rounding, so that a formula tells how far its result may be off.

Each step adds what it rounds to what its arguments were off by: a difference of numbers that are nearly equal keeps the
error of both, which is cancellation. First-order, after Higham, Accuracy and Stability of Numerical Algorithms, §3.3.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from posenc.core.arrays import Library

#: How far one rounding to float32 may change a number, of itself.
UNIT = 2.0**-24
#: A power, an exponential or a cosine of mathematics libraries is off by at most one unit in the last place: twice
#: `UNIT`, of itself.
OF_FUNCTION = 2.0**-23


class Tracked:
    """Numbers in float64 and how far a float32 computation of them may be off; NumPy's operators act on both.

    Args:
        value: The numbers.
        error: Bound on how far the float32 numbers are from them, of the same shape.
    """

    __array_ufunc__ = None  # so that NumPy's numbers leave their operators to this class

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value = np.asarray(value, np.float64)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)

    def __add__(self, other: Any) -> Tracked:
        other = tracked(other)
        return _rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Any) -> Tracked:
        other = tracked(other)
        return _rounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other: Any) -> Tracked:
        other = tracked(other)
        error = np.abs(self.value) * other.error + np.abs(other.value) * self.error
        return _rounded(self.value * other.value, error)

    def __truediv__(self, other: Any) -> Tracked:
        other = tracked(other)
        value = self.value / other.value
        return _rounded(value, (self.error + np.abs(value) * other.error) / np.abs(other.value))

    def __rpow__(self, base: float) -> Tracked:
        value, of_base = base**self.value, tracked(base).error / base
        return Tracked(value, value * (math.log(base) * self.error + np.abs(self.value) * of_base + OF_FUNCTION))

    def __rsub__(self, other: Any) -> Tracked:
        return tracked(other) - self

    def __rtruediv__(self, other: Any) -> Tracked:
        return tracked(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __gt__(self, other: float) -> Any:
        return self.value > other

    def __lt__(self, other: float) -> Any:
        return self.value < other

    def __eq__(self, other: object) -> Any:
        return self.value == other

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Tracked:
        return Tracked(self.value[index], self.error[index])


def tracked(number: Any) -> Tracked:
    """Return a number or an array as float32 holds it."""
    return number if isinstance(number, Tracked) else _rounded(np.asarray(number, np.float64), 0.0)


def _rounded(value: np.ndarray, error: Any) -> Tracked:
    """Add the rounding of a result: what it is where the result is known, and at most half a unit where it is not."""
    own = np.where(np.asarray(error) == 0.0, np.abs(value.astype(np.float32) - value), UNIT * np.abs(value))
    return Tracked(value, error + own)


def _where(condition: np.ndarray, chosen: Any, other: Any) -> Tracked:
    chosen, other = tracked(chosen), tracked(other)
    return Tracked(*(np.where(condition, getattr(chosen, name), getattr(other, name)) for name in ("value", "error")))


def _concatenate(parts: list[Tracked], axis: int = 0) -> Tracked:
    return Tracked(*(np.concatenate([getattr(part, name) for part in parts], axis) for name in ("value", "error")))


def _to_whole(x: Tracked) -> Tracked:
    return Tracked(np.round(x.value), np.round(x.value + x.error) - np.round(x.value - x.error))


def _cosine(x: Tracked) -> Tracked:
    return Tracked(np.cos(x.value), x.error + OF_FUNCTION * np.abs(np.cos(x.value)))


def _exponential(x: Tracked) -> Tracked:
    return Tracked(np.exp(x.value), np.exp(x.value) * (x.error + OF_FUNCTION))


class TrackedLibrary(Library):
    """Library whose arrays are `Tracked`; it has the functions that formulas of frequencies use."""

    name = "tracked"
    xp = SimpleNamespace(
        float32=np.float32, where=_where, concatenate=_concatenate, round=_to_whole, cos=_cosine, exp=_exponential
    )

    def constant(self, values: Any, dtype: Any = None) -> Tracked | np.ndarray:
        return tracked(values) if dtype is np.float32 else np.asarray(values)


#: The one of them, which computes nothing that depends on a device.
TRACKED = TrackedLibrary()
