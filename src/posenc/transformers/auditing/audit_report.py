"""Findings of an audit: which invariances of a model hold, and where the others break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from posenc.core import text_lines
from posenc.models.difference import EVERYTHING, EXIT_CODES, PARTLY, Verdict


@dataclass(frozen=True)
class AuditResult:
    """Result of one check.

    Attributes:
        name: Name of the check.
        sentence: What was compared.
        outcome: "holds", "breaks", or "not compared".
        difference: Largest difference of a state between both runs.
        allowed: What rounding allows for this state: four times the difference between the plain run in float32 and
            in float64, or a narrow dtype's error over a short distance.
        place: First state in which both runs differ: "embedding", "layer 3", "logits".
        row: Row of the batch where it differs first.
        token: First token that differs there.
        reason: Why it was not compared.
    """

    name: str
    sentence: str
    outcome: Literal["holds", "breaks", "not compared"]
    difference: float = 0.0
    allowed: float = 0.0
    place: str = ""
    row: int = 0
    token: int = 0
    reason: str = ""

    def line(self) -> str:
        """Say the result in a line.

        Returns:
            A line of text.
        """
        if self.outcome == "not compared":
            return f"{self.name}: not compared: {self.reason}"
        figures = f"{self.difference:.2g}, rounding allows {self.allowed:.2g}"
        if self.outcome == "holds":
            return f"{self.name}: holds ({self.sentence}: {figures})"
        where = f"from token {self.token} of row {self.row}, first seen in {self.place}"
        return f"{self.name}: breaks {where} ({self.sentence}: {figures})"


@dataclass(frozen=True)
class AuditReport(text_lines.Lines):
    """Results of an audit, from `posenc.transformers.audit`.

    Attributes:
        model_type: Of the model's config.
        results: One for each check.
    """

    model_type: str
    results: tuple[AuditResult, ...]

    @property
    def breaks(self) -> tuple[AuditResult, ...]:
        """The checks that break."""
        return tuple(result for result in self.results if result.outcome == "breaks")

    @property
    def explained(self) -> bool:
        """True: a check that breaks says why."""
        return True

    @property
    def verdict(self) -> Verdict:
        """Whether the runs agree in everything, in what was compared, or differ."""
        if self.breaks:
            return "differ"
        return PARTLY if any(result.outcome == "not compared" for result in self.results) else EVERYTHING

    @property
    def exit_code(self) -> int:
        """0 where every check holds, 1 where one breaks, 3 where those that were compared hold."""
        return EXIT_CODES[self.verdict]

    def lines(self) -> list[str]:
        """Return the verdict and a line for each check, those that break first."""
        order = {"breaks": 0, "holds": 1, "not compared": 2}
        every = sorted(self.results, key=lambda result: order[result.outcome])
        compared = any(result.outcome != "not compared" for result in self.results)
        verdict = f"the runs {self.verdict}" if compared else "nothing was compared"
        return [f"{self.model_type}: {verdict}", *(result.line() for result in every)]
