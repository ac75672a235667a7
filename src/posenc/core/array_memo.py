"""A bounded memo of arrays that are computed on the host from encodings and plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np

from posenc.core import arrays

P = ParamSpec("P")


def remembered(count: int) -> Callable[[Callable[P, np.ndarray]], Callable[P, np.ndarray]]:
    """Mark a function as `host`, and remember its last `count` arrays by all its arguments; a call returns a copy.

    Example:
        >>> @remembered(8)
        ... def squares(count: int) -> np.ndarray:
        ...     return np.arange(count) ** 2
        >>> squares(3)[:] = 7
        >>> squares(3)
        array([0, 1, 4])
    """

    def of(function: Callable[P, np.ndarray]) -> Callable[P, np.ndarray]:
        memo: Any = lru_cache(count)(function)

        @wraps(function)
        def copied(*arguments: P.args, **named: P.kwargs) -> np.ndarray:
            array: np.ndarray = memo(*arguments, **named)
            return array.copy()

        return arrays.host(copied)

    return of
