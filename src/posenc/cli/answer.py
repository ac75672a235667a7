"""The answer of a verb: facts for --json, lines and tables for a reader, and the exit code."""

from __future__ import annotations

import abc
import dataclasses
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from posenc.core.text_lines import escaped
from posenc.inspect.plain import as_plain

#: The width of tables in a file or a pipe, where there is no terminal to ask.
PLAIN_WIDTH = 120
#: No table is drawn narrower.
NARROWEST = 20
#: Characters of a word in a column of text that stay together.
LONGEST_WORD = 16


class Heading(str):
    """A line that begins a part; bold on a terminal."""


def headed(lines: Sequence[str]) -> list[str]:
    """Lines whose first begins a part."""
    first, *rest = lines
    return [Heading(first), *rest]


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Attributes of a value by name, as facts."""
    return {name: getattr(value, name) for name in names}


def heading(text: str) -> None:
    """Print a line that begins a part."""
    from rich.text import Text

    body, console = text.lstrip("\n"), _console()
    with console.capture() as drawn:  # rich would end the process, with code 1, where the reader of a pipe has gone
        console.print(Text(escaped(body), style="bold"))
    print("\n" * (len(text) - len(body)), drawn.get(), sep="", end="")


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), *, whole_names: bool = False
) -> list[str]:
    """Lines of a table, wrapped to the width of the terminal; `numbers` names the columns aligned to the right.

    Numbers are never wrapped. Those that leave the first column no room follow in a table of their own below. With
    `whole_names`, the first column is not wrapped where no terminal shows the table, so that programs find its words.
    """
    from rich.table import Table
    from rich.text import Text

    whole = whole_names and not sys.stdout.isatty()
    fitting = len(headers) if whole else _fitting(headers, rows, numbers)
    if fitting < len(headers):
        first, rest = range(fitting), (0, *range(fitting, len(headers)))
        return [line for part in (first, rest) for line in columns(*_part(headers, rows, numbers, part))]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, header in enumerate(headers):
        is_number = index in numbers
        unbroken = is_number or (whole and index == 0)
        grid.add_column(Text(header), justify="right" if is_number else "left", overflow="fold", no_wrap=unbroken)
    for row in rows:
        grid.add_row(*(Text(escaped(cell)) for cell in row))
    console = _console()
    if whole:
        console.width = max(console.width, sum(2 + max(map(len, cells)) for cells in zip(headers, *rows, strict=True)))
    return [_line(segments) for segments in console.render_lines(grid, pad=False)]


def _fitting(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> int:
    """How many columns fit beside one another, at least two: numbers as they are, other cells by their longest word."""
    room, width = 0, int(_console().width)
    for index in range(len(headers)):
        cells = [headers[index], *(row[index] for row in rows)]
        parts = cells if index in numbers else [word for cell in cells for word in cell.split()]
        longest = max(map(len, parts), default=0)
        room += 2 + (longest if index in numbers else min(longest, LONGEST_WORD))
        if room - 2 > width and index in numbers and index > 1:
            return index
    return len(headers)


def _part(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int], chosen: Sequence[int]
) -> tuple[list[str], list[list[str]], list[int]]:
    """Some columns of a table, as arguments of `columns`."""
    kept = [[cells[index] for index in chosen] for cells in (headers, *rows)]
    return kept[0], kept[1:], [place for place, index in enumerate(chosen) if index in numbers]


def _line(segments: Sequence[Any]) -> str:
    """Line of a table as plain text, whose style `heading` writes: `Answer` spells out control characters."""
    text = "".join(segment.text for segment in segments).rstrip()
    return Heading(text) if any(segment.style and segment.style.bold for segment in segments) else text


def wrap_text(text: str) -> list[str]:
    """Sentence over as many lines as the width of the terminal asks for."""
    return textwrap.wrap(text, int(_console().width)) or [""]


def _console() -> Any:
    from rich.console import Console

    # COLUMNS, or else the terminal's own width; 0 and what is no number say nothing.
    width = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    return Console(file=sys.stdout, highlight=False, width=max(width, NARROWEST))


def json_text(value: Any) -> str:
    """JSON in which numbers are numbers; NaN and infinity, for which it has no word, are null."""
    return json.dumps(as_plain(value), indent=2, allow_nan=False)


class Answer(NamedTuple):
    """Answer of a verb: `facts` makes its JSON, `lines` what is printed otherwise; `code` is the exit code."""

    facts: Callable[[], Any]
    lines: Callable[[], Iterable[str]]
    code: int = 0

    def show(self, json: bool) -> None:
        """Print the facts as JSON, or the lines."""
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
    """Answer with a report's own lines and fields."""
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
        """Do it; ValueError, TypeError and OSError become one line on stderr and exit code 2."""
