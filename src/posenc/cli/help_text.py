"""Help as a terminal shows it: sentences wrapped at its width, styles only where they are wanted."""

from __future__ import annotations

import io
import os
import re
import shutil
import textwrap
from typing import TextIO

from posenc.cli.terminal import NARROWEST_HELP

#: The beginning of a line whose text goes on below itself: its indentation, or a name and the blanks behind it.
HANGING = re.compile(r" *(?:\S+(?: \S+)* {2,})?")
#: Lines that stay as they are: drawn ones, those with styles, and commands to copy.
WHOLE = re.compile(r"[│╭╰\x1b]|^usage:|^ +posenc ")


class HelpPage(io.StringIO):
    """Takes help that a parser prints, which asks whether this is a terminal before it uses styles."""

    encoding = "utf-8"  # by which a parser chooses the lines of its boxes

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.styled = stream.isatty() and not os.environ.get("NO_COLOR")
        self.encoding = stream.encoding or "utf-8"

    def isatty(self) -> bool:
        """Whether styles are wanted: on a terminal, without NO_COLOR."""
        return self.styled


def wrapped(text: str) -> str:
    """Text of which no sentence is wider than the terminal; drawn boxes and commands to copy stay as they are."""
    width = max(shutil.get_terminal_size().columns, NARROWEST_HELP)
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    if len(line) <= width or WHOLE.search(line):
        return [line]
    found = HANGING.match(line)
    head = found[0] if found and len(found[0]) <= width // 2 else line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line[len(head) :],
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        break_long_words=False,
    )
