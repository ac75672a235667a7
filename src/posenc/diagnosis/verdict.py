"""Result of comparing two implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posenc.core import text_lines
from posenc.core.doors import Encoding
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.position_fields import OF_DOOR, PositionField, fields_of, not_shown
from posenc.models.difference import EVERYTHING, EXIT_CODES, PARTLY, Difference, Verdict, not_compared_lines
from posenc.models.model_positions import ModelPositions

BESIDE = "besides, they differ where none of the known mistakes explains it"


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
        not_compared: What either side does with positions that posenc does not read, and arrays that nothing was
            compared with.
        looked_at: Fields of the positions that the evidence shows, "frequencies" or "window" for example.
        not_shown: Fields that the evidence does not show, each with what to give so that it does.

    Example:
        >>> print(Diagnosis(agree=True, compared="what two configs say of every layer"))
        they agree in everything that this evidence can show
        compared: what two configs say of every layer
    """

    agree: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    difference: Difference | None = None
    compared: str = ""
    worst: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    looked_at: tuple[PositionField, ...] = ()
    not_shown: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The result in words: "agree in what was compared" where part of the positions was never looked at."""
        if not self.agree:
            return "differ"
        return PARTLY if self.not_compared or self.not_shown else EVERYTHING

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if they agree in everything, 1 if they differ, 3 if they agree in what was compared."""
        return EXIT_CODES[self.verdict]

    @property
    def explained(self) -> bool:
        """Whether they agree, or a mistake is named for all that differs."""
        return self.agree or (bool(self.findings) and not self.worst)

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        if self.agree:
            lines = [f"they {self.verdict}"]
        elif self.findings:
            lines = [line for finding in self.findings for line in finding.lines()]
            lines += [BESIDE, *self.worst] if self.worst else []
        else:
            lines = ["they differ, and none of the known mistakes explains it, alone or in the pairs tried"]
            lines += self.worst
            lines += [] if self.difference is None else replace(self.difference, not_compared=(), notes=()).lines()[1:]
        compared = [f"compared: {self.compared}"] if self.compared else []
        notes = [f"note: {note}" for note in self.notes]
        return [*lines, *compared, *self._fields(), *not_compared_lines(self.not_compared), *notes]

    def _fields(self) -> list[str]:
        """Lines on the fields looked at and not, where any were not; advice on showing them only where sides agree."""
        if not self.not_shown:
            return []
        looked_at = [f"looked at: {', '.join(self.looked_at)}"] if self.looked_at else []
        if self.agree:
            return [*looked_at, *(f"not compared: {fields}" for fields in self.not_shown)]
        return [*looked_at, "not compared: " + ", ".join(fields.partition(":")[0] for fields in self.not_shown)]

    def looked_at_in(self, positions: Encoding | ModelPositions) -> Diagnosis:
        """Return the diagnosis with `not_shown`: fields of these positions that the evidence did not show.

        Fields of encodings that these positions have not, as the frequencies of a bias, were not looked at.

        Args:
            positions: What was expected.

        Returns:
            The same diagnosis with `not_shown`.
        """
        absent = frozenset().union(*OF_DOOR.values()) - fields_of(positions)
        looked_at = tuple(name for name in self.looked_at if name not in absent)
        return replace(self, looked_at=looked_at, not_shown=not_shown(positions, looked_at))


def merged_diagnosis(verdicts: Sequence[Diagnosis]) -> Diagnosis:
    """Merge several comparisons of the same two implementations, each finding and note once."""
    each = {
        name: tuple(dict.fromkeys(one for verdict in verdicts for one in getattr(verdict, name)))
        for name in ("findings", "notes", "worst", "looked_at")
    }
    compared = "; ".join(dict.fromkeys(verdict.compared for verdict in verdicts if verdict.compared))
    return Diagnosis(all(verdict.agree for verdict in verdicts), compared=compared, **each)  # type: ignore[arg-type]
