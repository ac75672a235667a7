"""Whether code keeps the tables of its first call and reuses them where other positions or lengths are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from posenc.diagnosis.code.call_forms import FAILURES, Probe
from posenc.diagnosis.code.observed_values import VALUE_AND_ANGLE_ROUNDING
from posenc.diagnosis.code.user_code import Caller
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import NamedArray

NAME = "keeps the tables of its first call"
FIX = (
    "Compute the tables in every call, or keep them together with the positions, or the length, that they were made "
    "for, and make them anew where these differ."
)


class PositionRange(NamedTuple):
    """The positions of one call: how many there are, and the first of them."""

    length: int
    start: int = 0


#: Two calls, one after the other: a longer one, a shorter one, and one as long at other positions.
SHORT, LONG, FROM_5 = PositionRange(7), PositionRange(12), PositionRange(7, 5)
GROWING, SHRINKING, MOVED = (SHORT, LONG), (LONG, SHORT), (SHORT, FROM_5)
#: The axes of x by layout, with the number of positions in place of None.
SHAPES: dict[str | None, tuple[int | None, ...]] = {
    "batch first": (3, None), "sequence first": (None, 3), "no batch": (None,), "bhtd": (2, 3, None),
    "bthd": (2, None, 3), None: (1, None),
}  # fmt: skip
#: What a call is given for each position; without any of them, all calls are alike.
COUNTED = frozenset({"x", "length", "positions", "query_length", "key_length", "scores"})
POSITION_SHAPES = ((-1,), (-1, 1), (1, -1))


def kept_tables(probed: Probe) -> Iterator[Finding]:
    """Yield a finding if a call gives other numbers after another call than it gives as the first one."""
    caller = probed.caller
    if caller is None or not COUNTED & set(caller.call.form) or {"position", "index"} & set(caller.call.form):
        return
    caller.code.prepare(caller.dim, caller.base, caller.heads)
    calls = repeatable_calls(caller, probed.layout)
    if calls is not None:
        yield from _finding(calls, (GROWING, SHRINKING, *((MOVED,) if calls.take_positions else ())))
    caller.code.renew()  # nothing of these calls is left behind


class Calls(NamedTuple):
    """Calls of one form; `shape` is that of positions."""

    caller: Caller
    layout: str | None
    shape: tuple[int, ...]

    def results(self, *ranges: PositionRange) -> list[NamedArray] | None:
        """Results of the last of these calls, made on code in its first state; None where it fails."""
        caller, results = self.caller, None
        caller.code.renew()
        for one in ranges:
            values = self.values(one)
            try:
                results = caller.every_result(**{role: values[role] for role in caller.call.form if role in values})
            except FAILURES:
                results = None
        return results

    @property
    def take_positions(self) -> bool:
        """Whether they are told positions, and not only how many there are."""
        return "positions" in self.caller.call.form

    def values(self, asked: PositionRange) -> dict[str, Any]:
        """What a call for these positions may be given, by role."""
        count, heads = asked.length, self.caller.heads
        sizes = (*(count if size is None else size for size in SHAPES[self.layout]), self.caller.dim)
        x, k = np.random.default_rng(0).normal(size=(2, *sizes))
        positions = np.arange(asked.start, asked.start + count).reshape(self.shape)
        lengths = dict.fromkeys(("length", "query_length", "key_length"), count)
        return {"x": x, "k": k, "positions": positions, "scores": np.zeros((1, heads, count, count)), **lengths}


def repeatable_calls(caller: Caller, layout: str | None) -> Calls | None:
    """Calls with the first shape of positions that works; None where none does, or the code draws numbers."""
    for shape in POSITION_SHAPES if "positions" in caller.call.form else POSITION_SHAPES[:1]:
        calls = Calls(caller, layout, shape)
        once = calls.results(SHORT)
        if once is not None:
            return calls if _same(once, calls.results(SHORT)) else None
    return None


def _finding(calls: Calls, pairs: tuple[tuple[PositionRange, PositionRange], ...]) -> Iterator[Finding]:
    for first, second in pairs:
        alone, after = calls.results(second), calls.results(first, second)
        if alone is not None and not _same(alone, after):
            does = "fails for {}, as it does not" if after is None else "gives other numbers for {} than"
            does = does.format(words_of_range(second))
            sentence = f"It {NAME}: after a call for {words_of_range(first)}, it {does} in a first call."
            yield Finding(NAME, sentence, FIX)
            return


def words_of_range(asked: PositionRange) -> str:
    """A range of positions, for sentences."""
    return f"positions {asked.start} to {asked.start + asked.length - 1}"


def _same(one: list[NamedArray], other: list[NamedArray] | None) -> bool:
    """Whether two results are the same up to the rounding of their type."""
    if other is None or [each.values.shape for each in one] != [each.values.shape for each in other]:
        return False
    return all(_close(*pair) for pair in zip(one, other, strict=True))


def _close(one: NamedArray, other: NamedArray) -> bool:
    rounding = VALUE_AND_ANGLE_ROUNDING.get(one.dtype, VALUE_AND_ANGLE_ROUNDING["float32"])[0]
    finite = one.values[np.isfinite(one.values)]
    size = max(1.0, float(np.abs(finite).max(initial=0.0)))
    return bool(np.allclose(one.values, other.values, rtol=0.0, atol=4 * rounding * size, equal_nan=True))
