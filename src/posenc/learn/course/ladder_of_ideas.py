"""The notes' ladder of ideas, each with the figures that show what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Params
from posenc.encodings.adds.count import Count, NormalisedCount
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.one_sine import OneSine
from posenc.inspect.encoding_facts import drawn_params
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

    Attributes:
        encoding: The idea.
        bounded: Whether values of a sentence of a million words are no larger than those of a thousand.
        continuous: Whether values exist between whole positions, and change little with a small change of position.
        same_value: Whether a position has the same value in a sentence of any length.
        values: Values of position 1 in sentences of 2 and of 4 words.
        nearest: Distinct rows and closest pair, in float64.
        linear: Whether one matrix shifts by one step.
    """

    encoding: AdditiveEncoding
    bounded: bool
    continuous: bool
    same_value: bool
    values: tuple[np.ndarray, np.ndarray]
    nearest: Properties
    linear: bool

    def lines(self) -> list[str]:
        """The figures, a line each."""
        two, four = (text_lines.vector(value, 2) for value in self.values)
        values = "" if self.same_value else f": position 1 is {two} of two words, {four} of four"
        return [
            text_lines.short(self.encoding),
            f"  bounded                      {text_lines.yes(self.bounded)}",
            f"  continuous                   {text_lines.yes(self.continuous)} "
            f"(from word to word it moves by up to {text_lines.number(self.nearest.step, 3)})",
            f"  same value at any length     {text_lines.yes(self.same_value)}{values}",
            f"  closest in 0 … {self.nearest.count - 1:<12}  {self.nearest.pair}: {self.nearest.distance:.3g}",
            f"  relative shift linear        {text_lines.yes(self.linear)}",
        ]


def ladder_figures(encoding: AdditiveEncoding, count: int = 1001, *, params: Params | None = None) -> LadderFigures:
    """Measure whether an idea is bounded, continuous, consistent, distinct and linear in a shift.

    An encoding with a `length` and nothing learned (NormalisedCount) is taken for a sentence of `count` words.

    Args:
        encoding: An encoding that adds, with one axis.
        count: Positions 0 … count-1 are measured; from 16 to 131,072.
        params: Learned parameters; drawn with seed 0 if left out.

    Returns:
        The five figures.

    Raises:
        TypeError: `encoding` does not add.
        ValueError: `encoding` has several axes, or `count` breaks its rule.

    Example:
        >>> figures = ladder_figures(OneSine())
        >>> figures.nearest.closest, figures.bounded, figures.linear
        ((11, 344), True, False)
    """
    validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds")
    validation.one_axis("encoding", encoding)
    count = validation.integer("count", count, 16, 1 << 17)
    params = drawn_params(encoding, params)
    values = tuple(_rows_at(_worded(encoding, words), np.array([1]), params)[0] for words in (2, 4))
    worded, same = _worded(encoding, count), bool(np.array_equal(*values))
    bounded, continuous = _bounded(encoding, count, params), _continuous(worded, count, params)
    nearest, linear = properties(worded, count, params=params), _linear(worded, count, params)
    return LadderFigures(encoding, bounded, continuous, same, (values[0], values[1]), nearest, linear)


def _worded(encoding: AdditiveEncoding, words: int) -> AdditiveEncoding:
    """The encoding with its length set to `words` if it is NormalisedCount, which depends on it; else unchanged."""
    return replace(encoding, length=words) if isinstance(encoding, NormalisedCount) else encoding


def _rows_at(encoding: AdditiveEncoding, positions: np.ndarray, params: Params | None) -> np.ndarray:
    return np.asarray(encoding.embed(positions, params))


def _bounded(encoding: AdditiveEncoding, count: int, params: Params | None) -> bool:
    if not encoding.claims & {"unlimited"}:
        return True  # there is a last position, so there is a largest value
    near = np.abs(_rows_at(_worded(encoding, count), np.arange(count), params)).max()
    far = np.abs(_rows_at(_worded(encoding, 1000 * count), np.arange(999 * count, 1000 * count), params)).max()
    return bool(far <= 2 * near)


def _continuous(encoding: AdditiveEncoding, count: int, params: Params | None) -> bool:
    if "fractional" not in encoding.claims:
        return False
    between = np.arange(count - 1) + 0.5
    step = np.abs(_rows_at(encoding, between + SMALL, params) - _rows_at(encoding, between, params)).max()
    whole = np.abs(_rows_at(encoding, between + 0.5, params) - _rows_at(encoding, between - 0.5, params)).max()
    # A continuous value that moves by `whole` in a step moves by about `whole`·SMALL in a small one; a jump does not.
    return bool(step <= 4 * SMALL * max(whole, 1.0))


def _linear(encoding: AdditiveEncoding, count: int, params: Params | None) -> bool:
    """Whether one matrix, fitted by least squares to all rows, maps every row to the next within 1e-6 relative."""
    if "unlimited" in encoding.claims:
        count = max(count, 4 * encoding.width)
    rows = _rows_at(encoding, np.arange(count), params)
    matrix, *_ = np.linalg.lstsq(rows[:-1], rows[1:], rcond=None)
    return bool(np.abs(rows[:-1] @ matrix - rows[1:]).max() <= 1e-6 * np.abs(rows).max())
