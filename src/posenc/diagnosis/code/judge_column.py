"""Judge code that gives one number per position: a one-channel encoding of `posenc.learn`'s ladder, or a mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.core.text_lines import short
from posenc.diagnosis.code.code_report import CodeReport, FirstDifference, looked_at, measured
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.mistake import Finding
from posenc.encodings.adds.count import Count, NormalisedCount
from posenc.encodings.adds.one_sine import OneSine

#: Numbers that are no idea of the ladder, of positions and the length that was asked for, each with its finding.
MISTAKES: Mapping[Finding, Callable[[np.ndarray, int], np.ndarray]] = {
    Finding(
        "cosine in place of sine",
        "It is a cosine: a position has the value of its mirror image, cos(-p) = cos(p).",
        "Use sin(position).",
    ): lambda p, n: np.cos(p),
    Finding(
        "degrees in place of radians",
        "It takes the position in degrees: a wave of 360 positions.",
        "Leave the conversion out: sin takes radians.",
    ): lambda p, n: np.sin(np.deg2rad(p)),
    Finding(
        "divided by the length less 1",
        "It divides by the length less 1: a sentence of one word divides by 0.",
        "Count from 1 and divide by the length: (position + 1) / length.",
    ): lambda p, n: p / max(n - 1, 1),
}
FROM_ONE = Finding("start", "Positions start at 1.", "Start at 0.")
UNKNOWN = Finding(
    "no known column",
    "It gives one number for each position, and these are none of the ladder's: a count, a count divided by the "
    "length, or sin(position).",
    "Say which one is meant: --against 'OneSine()', for example.",
)


def judge_column(observed: ObservedValues, against: Encoding | None) -> CodeReport:
    """Report on numbers (n, 1): the encoding that they are, with positions from 0 or 1, or the mistake in them."""
    if isinstance(against, AdditiveEncoding) and against.width != 1:
        raise ValueError(
            f"against must have one channel for code that gives one number for each position; got {short(against)}. "
            "Return its channels, or give OneSine(), say."
        )
    ideas = _ideas(observed, against)
    for encoding, first in ideas:
        if observed.agrees(_rows(observed, encoding, first)):
            right = against is None or not first
            return _report(observed, encoding, first, () if right else (FROM_ONE,))
    found = (one for one, numbers in MISTAKES.items() if observed.agrees(_column(numbers, observed)))
    nearest = min(ideas, key=lambda idea: float(np.abs(_rows(observed, *idea) - observed.values).mean()))
    return _report(observed, *nearest, (next(found, UNKNOWN),))


def _rows(observed: ObservedValues, encoding: AdditiveEncoding, first: int) -> np.ndarray:
    return np.asarray(encoding.embed(observed.positions + first, dtype=np.float64))


def _column(numbers: Callable[[np.ndarray, int], np.ndarray], observed: ObservedValues) -> np.ndarray:
    return numbers(observed.positions, observed.length)[:, None]


def _ideas(observed: ObservedValues, against: Encoding | None) -> list[tuple[AdditiveEncoding, int]]:
    """Encodings with one channel to try, in order, each with the number to add to positions."""
    if isinstance(against, AdditiveEncoding):
        return [(against, 0), (against, 1)]
    counted = [NormalisedCount(length=observed.length, start=start) for start in (1, 0) if observed.length]
    return [(Count(), 0), (Count(start=0), 0), (OneSine(), 0), (OneSine(), 1), *((one, 0) for one in counted)]


def _report(
    observed: ObservedValues, encoding: AdditiveEncoding, first: int, findings: tuple[Finding, ...]
) -> CodeReport:
    def difference(place: tuple[int, ...], expected: float, received: float) -> FirstDifference:
        return FirstDifference(float(observed.positions[place[0]]), 0, expected, received)

    expected = _rows(observed, encoding, 0 if findings == (FROM_ONE,) else first)
    return CodeReport(
        right=not findings,
        door=observed.door,
        convention=f"{short(encoding)}{' with positions from 1' if first and not findings else ''}",
        findings=findings,
        notes=() if findings else ("One number for each position: `posenc.learn.ladder_figures` says what it lacks.",),
        **looked_at(observed.positions),
        **measured(expected, observed.values, observed.tolerance(1.0)[:, None], difference),
    )
