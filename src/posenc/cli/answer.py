"""The answer of a verb: facts for --json, lines and tables for a reader, and the exit code."""

from __future__ import annotations

import abc
import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from posenc.cli.terminal import NARROWEST, text_width, wrapped_for
from posenc.core.text_lines import escaped
from posenc.inspect.plain import as_plain

#: The width of tables in a file or a pipe, where there is no terminal to ask.
PLAIN_WIDTH = 120


#: Characters of a word in a column of text that stay together where there is no room for whole words.
LONGEST_WORD = 16


class Heading(str):
    """A section heading among an answer's lines; bold on a terminal."""


class Verbatim(str):
    """A line of code to copy, which is never wrapped."""


def headed(lines: Sequence[str]) -> list[str]:
    """Mark the first of some lines as a heading."""
    first, *rest = lines
    return [Heading(first), *rest]


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Collect the named attributes of an object in a dict, as facts for --json."""
    return {name: getattr(value, name) for name in names}


def heading(text: str) -> None:
    """Print a heading, in bold unless NO_COLOR is set; blank lines before it are kept."""
    from rich.text import Text

    body, console = text.lstrip("\n"), _console()
    with console.capture() as drawn:  # rich would end the process, with code 1, where the reader of a pipe has gone
        style = "" if os.environ.get("NO_COLOR") else "bold"
        console.print(Text(wrapped_for(escaped(body), sys.stdout), style), soft_wrap=True)
    print("\n" * (len(text) - len(body)), drawn.get(), sep="", end="")


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), *, whole_names: bool = False
) -> list[str]:
    """Lines of a table, wrapped to the width of the terminal; `numbers` names the columns aligned to the right.

    Numbers are never broken: those that leave the others no room follow in a table of their own below. Words are not
    broken while whole ones fit beside one another. With `whole_names`, a row is a line where no terminal shows the
    table, so that programs find its words.
    """
    from rich.table import Table
    from rich.text import Text

    console = _console()
    shapes = [_shape(column, index in numbers) for index, column in enumerate(zip(headers, *rows, strict=True))]
    if whole_names and not sys.stdout.isatty():
        console.width = _room(most for _, most in shapes)
    if _room(least for least, _ in shapes) > console.width:
        shapes = [
            (least if index in numbers else min(least, LONGEST_WORD), most)
            for index, (least, most) in enumerate(shapes)
        ]
    least = [width for width, _ in shapes]
    fitting = next(
        (most for most in sorted(numbers) if most > 1 and _room(least[: most + 1]) > console.width), len(headers)
    )
    if fitting < len(headers):
        first, rest = range(fitting), (0, *range(fitting, len(headers)))
        return [line for part in (first, rest) for line in columns(*_part(headers, rows, numbers, part))]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, (header, width) in enumerate(zip(headers, _widths(shapes, console.width), strict=True)):
        grid.add_column(Text(header), justify="right" if index in numbers else "left", overflow="fold", width=width)
    for row in rows:
        grid.add_row(*(Text(escaped(cell)) for cell in row))
    console.width = max(console.width, _room(least))
    return [_line(segments) for segments in console.render_lines(grid, pad=False)]


def _shape(column: Sequence[str], number: bool) -> tuple[int, int]:
    """Return (least, most) for a column: the width of its longest word or number, and that of its widest cell."""
    header, *cells = map(escaped, column)
    words = cells if number else " ".join(cells).split()
    return max(map(text_width, [*header.split(), *words]), default=0), max(map(text_width, [header, *cells]))


def _widths(shapes: Sequence[tuple[int, int]], room: int) -> list[int]:
    """Widths of columns that fit beside one another: the widest give way first, down to what each needs."""
    for widest in range(max(most for _, most in shapes), 0, -1):
        widths = [max(least, min(most, widest)) for least, most in shapes]
        if _room(widths) <= room:
            return widths
    return [least for least, _ in shapes]


def _room(widths: Iterable[int]) -> int:
    """Total width of columns with two blanks between neighbours."""
    return sum(width + 2 for width in widths) - 2


def _part(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int], chosen: Sequence[int]
) -> tuple[list[str], list[list[str]], list[int]]:
    """Select the columns `chosen`: headers, rows and indices of number columns, as arguments of `columns`."""
    kept = [[cells[index] for index in chosen] for cells in (headers, *rows)]
    return kept[0], kept[1:], [place for place, index in enumerate(chosen) if index in numbers]


def _line(segments: Sequence[Any]) -> str:
    """Join the rich segments of a table row into plain text; a row with bold text becomes a `Heading`."""
    text = "".join(segment.text for segment in segments).rstrip()
    return Heading(text) if any(segment.style and segment.style.bold for segment in segments) else text


def _console() -> Any:
    from rich.console import Console

    # COLUMNS, or else the terminal's own width; 0 and what is no number say nothing.
    width = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    return Console(file=sys.stdout, highlight=False, width=max(width, NARROWEST))


def json_text(value: Any) -> str:
    """Format a value as indented JSON; NaN and infinity, which JSON cannot express, become null."""
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
            if isinstance(line, Heading):
                heading(line)
            else:
                print(escaped(line) if isinstance(line, Verbatim) else wrapped_for(escaped(line), sys.stdout))


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
