"""What came of a suite: every check with its outcome and its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "failed", "expected", "left out"]


@dataclass(frozen=True)
class Outcome:
    """One check's outcome.

    Args:
        sentence: Why it failed, why that was expected, or why it was left out; empty when it passed.
    """

    name: str
    status: Status
    sentence: str = ""
    explains: str = ""


@dataclass(frozen=True)
class Report:
    """All outcomes for one encoding; `str` makes a table of it."""

    encoding: str
    outcomes: tuple[Outcome, ...]

    def _with(self, status: Status) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status == status)

    @property
    def passed(self) -> tuple[Outcome, ...]:
        """Checks that held."""
        return self._with("passed")

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Checks that did not hold, and expected failures that held."""
        return self._with("failed")

    @property
    def expected(self) -> tuple[Outcome, ...]:
        """Checks that failed as was said."""
        return self._with("expected")

    @property
    def left_out(self) -> tuple[Outcome, ...]:
        """Checks that did not run, with the reason."""
        return self._with("left out")

    @property
    def ok(self) -> bool:
        """Whether nothing failed that was not expected to."""
        return not self.failed

    def __str__(self) -> str:
        order = [*self.failed, *self.expected, *self.left_out, *self.passed]
        width = max([len(outcome.name) for outcome in order], default=0)
        lines = [f"{outcome.status:8}  {outcome.name:{width}}  {outcome.sentence}".rstrip() for outcome in order]
        counts = ", ".join(
            f"{len(self._with(status))} {status}" for status in ("passed", "failed", "expected", "left out")
        )
        return "\n".join([f"{self.encoding}: {counts}", *lines])
