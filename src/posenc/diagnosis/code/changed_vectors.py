"""Whether code treats all vectors alike: every row of a batch, queries and keys, wherever positions begin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posenc.diagnosis.code.call_forms import Probe
from posenc.diagnosis.code.kept_tables import (
    FROM_5,
    SHAPES,
    SHORT,
    Calls,
    PositionRange,
    kept_tables,
    repeatable_calls,
    words_of_range,
)
from posenc.diagnosis.code.observed_values import VALUE_AND_ANGLE_ROUNDING, ObservedValues, ProbedBias
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import NamedArray

SWAPPED = Finding(
    "queries and keys swapped",
    "It returns keys where queries are expected, and queries where keys are.",
    "Return the queries first, as they were given.",
)
DIFFERENTLY = (
    "vectors treated differently",
    "Compute cosines and sines, or the table, for the positions that are given, and let them broadcast over batch and "
    "heads: x + table, or x · cos + rotated x · sin, of all of x.",
)
ALONE = "It returns the positions alone, without x: add them to x."


def seen_in_more_calls(probed: Probe, right: bool) -> Iterator[Finding | str]:
    """Yield what further calls show: tables that are kept and, of code that is right so far, vectors that differ."""
    kept = tuple(kept_tables(probed))
    yield from kept
    drawn = any(tensor.kind == "parameter" for tensor in probed.tensors)  # anew, for these calls
    if right and not kept and not probed.findings and not drawn:
        yield from _changed_vectors(probed)


def _changed_vectors(probed: Probe) -> Iterator[Finding | str]:
    """Yield a finding where random vectors are changed differently than zeros and unit vectors of one row were.

    A number that x is multiplied by, as by the root of the width in the paper, is a note.
    """
    caller, observed = probed.caller, probed.observed
    if caller is None or isinstance(observed, ProbedBias) or probed.layout is None or "x" not in caller.call.form:
        return
    calls = repeatable_calls(caller, probed.layout)
    if calls is not None:
        for asked in (SHORT, FROM_5) if calls.take_positions else (SHORT,):
            remark = _remark(observed, calls, asked)
            if remark:
                yield remark
                break
    caller.code.renew()


def _remark(observed: ObservedValues, calls: Calls, asked: PositionRange) -> Finding | str:
    """The remark on one call; "" where its vectors are as expected, or the call fails."""
    results, given = calls.results(asked), calls.values(asked)
    vectors = [given[role] for role in ("x", "k") if role in calls.caller.call.form]
    rows = np.searchsorted(observed.positions, np.arange(asked.start, asked.start + asked.length))
    table = observed.values[rows]
    if results is None or [one.values.shape for one in results] != [one.shape for one in vectors]:
        return ""
    axis = SHAPES[calls.layout].index(None)
    expected = [_expected(table, one, axis) for one in vectors]
    if all(_close(*pair) for pair in zip(results, expected, strict=True)):
        return ""
    if len(results) == 2 and all(_close(*pair) for pair in zip(results, expected[::-1], strict=True)):
        return SWAPPED
    if table.ndim == 2:
        times = _times(results[0], vectors[0], expected[0] - vectors[0])
        if times is not None:
            return f"It multiplies x by {times:.4g} before it adds positions." if times else ALONE
    name, fix = DIFFERENTLY
    return Finding(name, f"In a call for {words_of_range(asked)}, {_where(results, expected, axis, asked)}.", fix)


def _expected(table: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """Vectors of this shape with the rows of `table` added, or rotated by its matrices."""
    tokens_last = np.moveaxis(x, axis, -2)
    moved = tokens_last + table if table.ndim == 2 else np.einsum("nij,...nj->...ni", table, tokens_last)
    return np.moveaxis(moved, -2, axis)


def _times(result: NamedArray, x: np.ndarray, added: np.ndarray) -> float | None:
    """The number, at least 0, that x is multiplied by where that is all that differs; None where more does."""
    times = float(((result.values - added) * x).sum() / (x * x).sum())
    times = 0.0 if abs(times) < 1e-3 else times
    return times if times >= 0.0 and _close(result, times * x + added) else None


def _where(results: list[NamedArray], expected: list[np.ndarray], axis: int, asked: PositionRange) -> str:
    """The first vector that differs, in words."""
    for name, one, other in zip(("x", "k"), results, expected, strict=False):
        wrong = ~(np.abs(one.values - other).max(-1) <= _tolerance(one, other))
        if wrong.any():
            index = list(map(int, np.argwhere(wrong)[0]))
            position = asked.start + index.pop(axis)
            here, first = (f"{name}{places or ''}" for places in (index, [0] * len(index)))
            of_first = "" if here == first else f"{first} is "
            return f"{here} at position {position} is changed differently than {of_first}in other calls"
    raise AssertionError("one of the vectors differs")


def _close(result: NamedArray, expected: np.ndarray) -> bool:
    return bool((np.abs(result.values - expected) <= _tolerance(result, expected)).all())


def _tolerance(result: NamedArray, expected: np.ndarray) -> float:
    """What rounding inside the code may change: a mistake changes vectors by about their own size."""
    rounding = VALUE_AND_ANGLE_ROUNDING.get(result.dtype, VALUE_AND_ANGLE_ROUNDING["float32"])[0]
    return float(max(4 * rounding, 2e-3) * max(1.0, np.abs(expected).max()))
