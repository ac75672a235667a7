"""Result of comparing two implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posenc.core import text_lines
from posenc.diagnosis.mistake import Finding
from posenc.models.difference import Difference, not_compared_lines


@dataclass(frozen=True)
class Diagnosis(text_lines.Lines):
    """Whether two implementations agree, and the mistakes behind a difference.

    Attributes:
        agree: Whether they compute the same, up to what no logit can see.
        findings: The mistake, or the two, that lead from what is expected to what is there; empty where they agree, and
            where no known mistakes explain the difference.
        notes: Harmless observations.
        difference: Of two configs or encodings, field by field.
        compared: What was compared, in words.
        worst: Where an unexplained difference is largest, a line for each array.
        not_compared: What either side does with positions that posenc does not read.

    Example:
        >>> print(Diagnosis(agree=True, compared="what two configs say of every layer"))
        they agree
        compared: what two configs say of every layer
    """

    agree: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    difference: Difference | None = None
    compared: str = ""
    worst: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()

    @property
    def explained(self) -> bool:
        """Whether nothing is left to explain."""
        return self.agree or bool(self.findings)

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        if self.agree:
            lines = ["they agree in what was compared" if self.not_compared else "they agree"]
        elif self.findings:
            lines = [line for finding in self.findings for line in finding.lines()]
        else:
            lines = ["they differ, and none of the known mistakes explains it, alone or in pairs"]
            lines += self.worst
            lines += [] if self.difference is None else replace(self.difference, not_compared=(), notes=()).lines()[1:]
        compared = [f"compared: {self.compared}"] if self.compared else []
        notes = [f"note: {note}" for note in self.notes]
        return [*lines, *compared, *not_compared_lines(self.not_compared), *notes]


def merged_diagnosis(verdicts: Sequence[Diagnosis]) -> Diagnosis:
    """Merge several comparisons of the same two implementations, each finding and note once."""
    each = {
        name: tuple(dict.fromkeys(one for verdict in verdicts for one in getattr(verdict, name)))
        for name in ("findings", "notes", "worst")
    }
    compared = "; ".join(dict.fromkeys(verdict.compared for verdict in verdicts if verdict.compared))
    return Diagnosis(all(verdict.agree for verdict in verdicts), compared=compared, **each)  # type: ignore[arg-type]
