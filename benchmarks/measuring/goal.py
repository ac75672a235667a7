"""A goal: the figure that decides it, and what it should be at most."""

from __future__ import annotations

from dataclasses import dataclass

ALLOWED = 1.25


@dataclass(frozen=True)
class Goal:
    """A variant of a case of a benchmark, in time over another (`below`) or by its value, and what it should be at
    most.

    prototype: the figure that the goal was set against. not_measured: why no benchmark has it, where none has.
    """

    what: str
    benchmark: str
    case: str
    variant: str
    below: str
    most: float
    prototype: str
    not_measured: str = ""

    @property
    def gate(self) -> float:
        return ALLOWED * self.most

    @property
    def figure(self) -> str:
        return f"{self.variant} / {self.below}" if self.below else self.variant
