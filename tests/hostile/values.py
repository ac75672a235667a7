"""Values that no argument should swallow, and what an answer to them must look like."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from effort import calls_at_most
from every import every

NAN, INF = math.nan, math.inf

#: In place of a whole number.
NOT_WHOLE: tuple[Any, ...] = (
    None,
    "3",
    b"3",
    2.5,
    True,
    NAN,
    INF,
    1j,
    [],
    {},
    object(),
    np.array([1, 2]),
    10**30,
    -(10**30),
)
#: In place of a real number.
NOT_REAL: tuple[Any, ...] = (None, "1.0", False, NAN, INF, -INF, 1j, [1.0], {}, object(), np.array([1.0, 2.0]), 10**400)
#: In place of one of a few words.
NOT_A_WORD: tuple[Any, ...] = (None, "", "no such word", 1, 0.5, True, b"halves", [], object())
#: In place of True or False.
NOT_TRUTH: tuple[Any, ...] = (None, 0, 1, "yes", 1.0, [], np.array([True]), object())
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.matrix([[0, 1]])
#: In place of positions.
NOT_POSITIONS: tuple[Any, ...] = (
    None,
    "012",
    True,
    object(),
    {},
    {0, 1},
    1j,
    [[0, 1], [2]],
    [0, None],
    ["0", "1"],
    [10**30],
    [0.0, NAN],
    [INF, 1.0],
    np.array([True, False]),
    np.array([1j]),
    np.array([0, None], object),
    np.array(["2020-01-01"], "datetime64[D]"),
    np.array([0, 1], np.float16),
    np.array([0, 2**60]),
    np.ma.array([0, 1], mask=[True, False]),
    [np.ma.array([0, 1], mask=[True, False])],
    MATRIX,
    range(10**9),
    range(10**30),
)
#: In place of the floats of x, q, k or v.
NOT_CONTENT: tuple[Any, ...] = (
    None,
    "x",
    1.5,
    object(),
    {},
    np.zeros((2, 3)),
    np.zeros((1, 1, 2, 4), np.int64),
    np.zeros((1, 1, 2, 4), np.complex128),
    np.zeros((1, 1, 2, 4), object),
    np.ma.array(np.zeros((1, 1, 2, 4)), mask=True),
)
#: In place of parameters.
NOT_PARAMS: tuple[Any, ...] = ([1.0], "table", 3, object(), {"no_such_name": np.zeros(2)}, {1: np.zeros(2)})
NOT_DTYPE: tuple[Any, ...] = (int, np.int32, "int64", bool, np.complex64, object, "no such dtype", 7, [], "str")

#: Enough for a message and the frames of a call; far less than any table that was asked for.
MOST_BYTES = 2**21


def refusal(call: Callable[[], Any]) -> Exception:
    """The ValueError or TypeError that the call ends in, soon and without taking memory."""
    tracemalloc.start()
    try:
        with calls_at_most(), pytest.raises((ValueError, TypeError)) as caught:
            call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    error = caught.value
    assert peak < MOST_BYTES, f"{peak} bytes before the refusal: {error}"
    return error


def told(error: Exception, value: Any) -> bool:
    """Whether the message holds a plain value; of others it tells the type or the shape, in its own words."""
    text = str(error)
    if any(kind in text for kind in ("float64", "bool")):  # of a number where an array may stand, its dtype is told
        return True
    if isinstance(value, str | bool | type(None)):
        return repr(value) in text
    if isinstance(value, int | float):
        return (
            repr(value)[:20] in text or f"{value:g}" in text
            if abs(value) < 10**300
            else "inf" in text or repr(value)[:20] in text
        )
    return True


def all_refused(build: Callable[[Any], Any], name: str, values: Iterable[Any]) -> None:
    """Each value is refused, by a message that begins with the argument's name and holds the value; all failures are
    told."""

    def check(bad: Any) -> None:
        error = refusal(lambda: build(bad))
        assert str(error).startswith(name), error
        assert told(error, bad), error

    every(values, check)
