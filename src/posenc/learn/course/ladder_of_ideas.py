"""The notes' ladder of ideas, each with the figures that show what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Params
from posenc.encodings.adds.count import Count, NormalisedCount
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.one_sine import OneSine
from posenc.inspect.properties import Properties, properties

#: The steps of the notes, in their order; each mends something that the one before lacks.
LADDER: tuple[AdditiveEncoding, ...] = (
    Count(),
    NormalisedCount(length=4),
    OneSine(),
    DivisorPairs(divisors=(1.0,)),
    DivisorPairs(divisors=(1.0, 2.0, 3.0)),
)

#: A change of position that stands for "hardly any".
SMALL = 2.0**-20


@dataclass(frozen=True, eq=False)
class LadderFigures(text_lines.Lines):
    """The five figures of one idea, all measured.

    bounded: values of a sentence of a million words are no larger than those of a thousand.
    continuous: between whole positions there are values too, and a small change of position changes them little.
    same_value: a position has the same value in a sentence of any length; `values` are those of position 1 in sentences
    of 2 and of 4 words.   nearest: distinct rows and closest pair, in float64.   linear: one matrix shifts by one step.
    """

    record: AdditiveEncoding
    bounded: bool
    continuous: bool
    same_value: bool
    values: tuple[np.ndarray, np.ndarray]
    nearest: Properties
    linear: bool

    def lines(self) -> list[str]:
        two, four = (text_lines.vector(value, 2) for value in self.values)
        values = "" if self.same_value else f": position 1 is {two} of two words, {four} of four"
        return [
            text_lines.short(self.record),
            f"  bounded                      {text_lines.yes(self.bounded)}",
            f"  continuous                   {text_lines.yes(self.continuous)} "
            f"(from word to word it moves by up to {text_lines.number(self.nearest.step, 3)})",
            f"  same value at any length     {text_lines.yes(self.same_value)}{values}",
            f"  closest in 0 … {self.nearest.count - 1:<12}  {self.nearest.pair}: {self.nearest.distance:.3g}",
            f"  relative shift linear        {text_lines.yes(self.linear)}",
        ]


def ladder_figures(record: AdditiveEncoding, count: int = 1001, *, params: Params | None = None) -> LadderFigures:
    """Bounded, continuous, consistent, closest pair of positions in 0 … count-1, linear in a shift: measured.

    A record with a `length` and nothing learned (NormalisedCount) is taken for a sentence of `count` words.

    >>> figures = ladder_figures(OneSine())
    >>> figures.nearest.closest, figures.bounded, figures.linear
    ((11, 344), True, False)
    """
    validation.instance("record", record, AdditiveEncoding, "a record that adds")
    validation.one_axis("record", record)
    count = validation.integer("count", count, 16, 1 << 17)
    if params is None and record.shapes:
        params = record.init(np.random.default_rng(0))
    values = tuple(_rows_at(_worded(record, words), np.array([1]), params)[0] for words in (2, 4))
    return LadderFigures(
        record,
        _bounded(record, count, params),
        _continuous(_worded(record, count), count, params),
        bool(np.array_equal(*values)),
        (values[0], values[1]),
        properties(_worded(record, count), count, params=params),
        _linear(_worded(record, count), count, params),
    )


def _worded(record: AdditiveEncoding, words: int) -> AdditiveEncoding:
    """The record for a sentence of so many words."""
    return replace(record, length=words) if isinstance(record, NormalisedCount) else record


def _rows_at(record: AdditiveEncoding, positions: np.ndarray, params: Params | None) -> np.ndarray:
    return np.asarray(record.embed(positions, params))


def _bounded(record: AdditiveEncoding, count: int, params: Params | None) -> bool:
    if not record.claims & {"unlimited"}:
        return True  # there is a last position, so there is a largest value
    near = np.abs(_rows_at(_worded(record, count), np.arange(count), params)).max()
    far = np.abs(_rows_at(_worded(record, 1000 * count), np.arange(999 * count, 1000 * count), params)).max()
    return bool(far <= 2 * near)


def _continuous(record: AdditiveEncoding, count: int, params: Params | None) -> bool:
    if "fractional" not in record.claims:
        return False
    between = np.arange(count - 1) + 0.5
    step = np.abs(_rows_at(record, between + SMALL, params) - _rows_at(record, between, params)).max()
    whole = np.abs(_rows_at(record, between + 0.5, params) - _rows_at(record, between - 0.5, params)).max()
    # A continuous value that moves by `whole` in a step moves by about `whole`·SMALL in a small one; a jump does not.
    return bool(step <= 4 * SMALL * max(whole, 1.0))


def _linear(record: AdditiveEncoding, count: int, params: Params | None) -> bool:
    """Whether one matrix shifts every row by one step: the best by least squares, over far more rows than it has."""
    if "unlimited" in record.claims:
        count = max(count, 4 * record.width)
    rows = _rows_at(record, np.arange(count), params)
    matrix, *_ = np.linalg.lstsq(rows[:-1], rows[1:], rcond=None)
    return bool(np.abs(rows[:-1] @ matrix - rows[1:]).max() <= 1e-6 * np.abs(rows).max())
