"""Rounding of the lesson's numbers for its file, such that the page can round them again without error."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Decimals that tell any two numbers of the lesson apart; one that still ends in 5 is held whole.
MOST_DIGITS = 17


def rounded(values: Any, digits: int = 4) -> Any:
    """Round a number or nested numbers to `digits` decimals, or to more where the last one would be a 5.

    The page rounds these numbers once more, to as few decimals as it shows. Two roundings differ from one only where
    the first gives a tie, as 0.995004 does with 0.9950; so the file has no tie where the exact number is none.

    Example:
        >>> rounded([0.9950041652780258, 0.125, 0.12345678])
        [0.995004, 0.125, 0.12346]
    """
    if isinstance(values, float | int):
        return _rounded(float(values), digits)
    array = np.asarray(values, dtype=np.float64)
    return np.reshape([_rounded(value, digits) for value in array.ravel().tolist()], array.shape).tolist()


def _rounded(value: float, digits: int) -> float:
    for more in range(digits, MOST_DIGITS):
        text = f"{value:.{more}f}"
        if not text.rstrip("0").rstrip(".").endswith("5"):
            return float(text)
    return value
