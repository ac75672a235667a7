"""What every verb prints with: tables and JSON, plain text wherever it is not a terminal."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: The width of tables in a file or a pipe, where there is no terminal to ask.
PLAIN_WIDTH = 120


def say(*lines: str) -> None:
    """Print lines of text as they are."""
    for line in lines:
        print(line)


def heading(text: str) -> None:
    """A line that begins a part; bold on a terminal."""
    from rich.text import Text

    _console().print(Text(text, style="bold"))


def result(found: Any, as_json: bool = False) -> None:
    """A result that prints itself: its lines, the first of them bold on a terminal; or JSON."""
    if as_json:
        print(json.dumps(facts(found), indent=2, allow_nan=False, ensure_ascii=False))
        return
    first, *rest = found.lines()
    heading(first)
    say(*rest)


def facts(found: Any) -> dict[str, Any]:
    """The fields of a result, and whether they explain what was found."""
    return {**plain(found), "explained": found.explained}


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
    """Columns, wrapped to the width of the terminal; `numbers` names those aligned to the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, header in enumerate(headers):
        grid.add_column(Text(header), justify="right" if index in numbers else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    console = _console()
    with console.capture() as drawn:
        console.print(grid)
    say(*(line.rstrip() for line in drawn.get().splitlines()))


def _console() -> Any:
    from rich.console import Console

    plain = not sys.stdout.isatty()
    asked = Console(file=sys.stdout, highlight=False)
    return Console(file=sys.stdout, highlight=False, width=PLAIN_WIDTH) if plain and not _width_is_set() else asked


def _width_is_set() -> bool:
    import os

    return os.environ.get("COLUMNS", "").isdigit()


def as_json(value: Any) -> str:
    """JSON in which numbers are numbers; what JSON has no word for (NaN, infinity) is null."""
    return json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Records, arrays and tuples as the dicts, lists and numbers of JSON."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if _is_encoding(value):
        return repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    return str(value)


def _is_encoding(value: Any) -> bool:
    from posenc.doors import Encoding

    return isinstance(value, Encoding)
