"""What a verb is, and what it answers: facts for --json, lines for a reader, and the exit code."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from posenc.cli.show import Heading, headed, heading, json_text
from posenc.cli.terminal import escaped
from posenc.inspect.plain import as_plain


class Answer(NamedTuple):
    """

    Args:
        facts: Makes what --json prints.
        lines: Makes what is printed otherwise.
        code: The exit code.
    """

    facts: Callable[[], Any]
    lines: Callable[[], Iterable[str]]
    code: int = 0

    def show(self, json: bool) -> None:
        if json:
            print(json_text(self.facts()))
            return
        for line in list(self.lines()):  # an error in one of them leaves nothing half printed
            heading(line) if isinstance(line, Heading) else print(escaped(line))


class PrintsItself(Protocol):
    """A result that prints itself, whose first line is its verdict."""

    @property
    def explained(self) -> bool: ...

    def lines(self) -> list[str]: ...


def of_report(report: PrintsItself, code: int, **facts: Any) -> Answer:
    """A report's own lines and fields."""
    return Answer(
        lambda: {**facts, **as_plain(report), "explained": report.explained}, lambda: headed(report.lines()), code
    )


@dataclasses.dataclass(frozen=True)
class Verb(abc.ABC):
    """The options of a verb, which tyro reads from its fields and their docstrings."""

    json: bool = dataclasses.field(default=False, kw_only=True)
    """Print JSON."""

    @abc.abstractmethod
    def run(self) -> Answer:
        """Do it. ValueError, TypeError and OSError become one line on stderr and exit code 2."""
