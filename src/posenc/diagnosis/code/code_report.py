"""Result of checking a user's own code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import text_lines
from posenc.core.encoding import Encoding
from posenc.core.text_lines import short
from posenc.diagnosis.mistake import Finding
from posenc.models.difference import EVERYTHING, EXIT_CODES, PARTLY, Verdict

CONSISTENT = "consistent; its numbers were compared with nothing"


@dataclass(frozen=True)
class FirstDifference:
    """The first number that is not the expected one; `source` is the channel of the unit vector that was rotated."""

    position: float
    channel: int
    expected: float
    received: float
    source: int | None = None

    def line(self) -> str:
        source = "" if self.source is None else f" of unit vector {self.source}"
        location = f"position {self.position:.0f}, dimension {self.channel}{source}"
        return f"first differs   {location}: {_expected_and_received(self.expected, self.received)}"


@dataclass(frozen=True)
class FirstBiasDifference:
    """The first bias that is not the expected one."""

    head: int
    query: int
    key: int
    expected: float
    received: float

    def line(self) -> str:
        location = f"head {self.head}, query {self.query}, key {self.key}"
        return f"first differs   {location}: {_expected_and_received(self.expected, self.received)}"


def _expected_and_received(expected: float, received: float) -> str:
    """Both numbers, with the digits that tell them apart."""
    one, other = text_lines.told_apart(expected, [received]), text_lines.told_apart(received, [expected])
    return f"expected {one}, received {other}"


def gaps(received: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Differences of two arrays of one shape; equal infinities, and NaN in one place, do not differ."""
    same = (received == expected) | (np.isnan(received) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.abs(received - expected))


def measured(
    expected: np.ndarray,
    received: np.ndarray,
    tolerance: np.ndarray,
    first: Callable[[tuple[int, ...], float, float], FirstDifference | FirstBiasDifference],
) -> dict[str, Any]:
    """Fields of a `CodeReport` on received and expected numbers; `first` describes the first difference."""
    gap = gaps(received, expected)
    wrong = tuple(map(int, next(iter(np.argwhere(~(gap <= tolerance))), ())))
    return {
        "first_difference": first(wrong, float(expected[wrong]), float(received[wrong])) if wrong else None,
        "largest_difference": float(np.nanmax(gap)) if np.isfinite(gap).any() else float("nan"),
        "compared": int(gap.size),
    }


def looked_at(positions: np.ndarray) -> dict[str, Any]:
    """Fields of a `CodeReport` on the positions that were compared, in any shape."""
    each = np.unique(positions)
    gap = np.flatnonzero(each != np.arange(len(each)))
    unbroken = int(gap[0]) if len(gap) else len(each)
    return {"farthest_position": float(each[-1]), "positions": len(each), "unbroken_positions": unbroken}


@dataclass(frozen=True)
class CodeReport(text_lines.Lines):
    """Whether code follows a published convention, and which mistake it makes if not.

    Attributes:
        right: Whether it does, at every width that was asked for.
        door: "adds", "rotates", "biases" or "scores".
        convention: The convention that it follows, or the nearest, as an encoding.
        findings: The mistakes that explain the numbers; empty when right, and when no known mistake explains them.
        notes: Harmless observations.
        form: How the code was called.
        layout: Layout of vectors with a batch or heads.
        precision: The type whose rounding explains what is left.
        first_difference: First number that differs from `convention`.
        largest_difference: Largest difference from `convention`.
        compared: How many numbers were compared.
        farthest_position: The last position that was compared.
        positions: How many positions were compared.
        unbroken_positions: Every position below this one was compared; later ones were sampled.
        also_compared: Other widths, or numbers of heads, that were compared, each with its positions.
        consistent: Whether nothing was found wrong and there was nothing to compare the numbers with, as where a table
            is learned; then `right` is False.
    """

    right: bool
    door: str
    convention: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    form: str = ""
    layout: str | None = None
    precision: str | None = None
    first_difference: FirstDifference | FirstBiasDifference | None = None
    largest_difference: float = 0.0
    compared: int = 0
    farthest_position: float = 0.0
    positions: int = 0
    unbroken_positions: int = 0
    also_compared: tuple[str, ...] = ()
    consistent: bool = False

    @property
    def explained(self) -> bool:
        """Whether the code is right or consistent, or a mistake is named for what is wrong."""
        return self.right or self.consistent or bool(self.findings)

    @property
    def verdict(self) -> Verdict:
        """Verdict as of every comparison: "agree in what was compared" where there was nothing to compare with."""
        return EVERYTHING if self.right else PARTLY if self.consistent else "differ"

    @property
    def exit_code(self) -> int:
        """Exit code: 0 for right, 1 for wrong, 3 where the numbers were compared with nothing."""
        return EXIT_CODES[self.verdict]

    @property
    def positions_in_words(self) -> str:
        """The positions that were compared: all up to one of them, and how many of the later ones."""
        near, more = self.unbroken_positions, self.positions - self.unbroken_positions
        sampled = f"{more} of {near:,} to {self.farthest_position:,.0f}" if more else ""
        every = f"positions 0 to {near - 1:,}" if near > 1 else "position 0" if near else "positions"
        return " and ".join(filter(None, (every, sampled)))

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        lines = self._verdict()
        lines += ["", f"called as       {self.form}{f', {self.layout}' if self.layout else ''}"]
        if not self.right and not self.consistent:
            lines.append(f"compared with   {self.convention}")
        if self.compared:
            lines.append(
                f"numbers         {self.compared:,}, {self.positions_in_words}, "
                f"largest difference {self.largest_difference:.2g}"
            )
        lines += [f"also compared   {other}" for other in self.also_compared]
        if self.first_difference is not None:
            lines.append(self.first_difference.line())
        return [*lines, *(f"note            {note}" for note in self.notes)]

    def _verdict(self) -> list[str]:
        if self.right:
            return ["right", f"It is {self.convention}."]
        if self.consistent:
            return [CONSISTENT, f"It is {self.convention}. Give the encoding that is meant to compare them."]
        if self.findings:
            return [line for finding in self.findings for line in finding.lines()]
        return ["it differs, and none of the known mistakes explains it"]


def another_door(door: str, against: Encoding) -> CodeReport:
    """Report on code that enters a transformer by another door than the encoding that is meant."""
    finding = Finding(
        "another kind of encoding",
        f"It is an encoding that {door}; {short(against)}, which is meant, {against.door}.",
        "Return what the encoding that is meant returns, or compare with the encoding that the code implements.",
    )
    return CodeReport(False, door, short(against), (finding,))
