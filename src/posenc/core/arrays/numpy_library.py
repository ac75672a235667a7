"""NumPy, the library that is always there."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from posenc.core.arrays.array_library import Array, Library


class NumPy(Library):
    """NumPy's functions and dtypes."""

    name = "numpy"
    xp = np
    float64 = True
    integer = np.int64
    real = default = np.float64

    def astype(self, array: Array, dtype: Any) -> Array:
        if array.dtype == dtype:
            return array
        if dtype in (np.float64, np.int64):  # which hold whatever is converted to them
            return array.astype(dtype)
        with np.errstate(over="ignore"):  # infinity is the rounded value of what fewer bits do not hold
            return array.astype(dtype)

    def order(self, array: Array) -> Array:
        return np.argsort(array, -1, kind="stable")

    scaled = staticmethod(operator.mul)  # type: ignore[assignment]  # in one pass, and without a Python call

    def extremes(self, array: Array) -> tuple[Any, Any] | None:
        if array.size <= 1:
            return (array.item(), array.item()) if array.size else None
        return np.minimum.reduce(array, None).item(), np.maximum.reduce(array, None).item()


NUMPY = NumPy()
