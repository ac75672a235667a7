"""Help as a terminal shows it: sentences wrapped at its width, styles only where they are wanted."""

from __future__ import annotations

import io
import os
import shutil
from typing import TextIO

from posenc.cli.terminal import NARROWEST_HELP, wrapped


class HelpPage(io.StringIO):
    """Buffer for a parser's help that reports the real stream's encoding and whether styles are wanted."""

    encoding = "utf-8"  # by which a parser chooses the lines of its boxes

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.styled = stream.isatty() and not os.environ.get("NO_COLOR")
        self.encoding = stream.encoding or "utf-8"

    def isatty(self) -> bool:
        """Whether styles are wanted: on a terminal, without NO_COLOR."""
        return self.styled


def wrapped_help(text: str) -> str:
    """Wrap help text to the width of the terminal, or to the default width of 80 columns where there is none."""
    return wrapped(text, max(shutil.get_terminal_size().columns, NARROWEST_HELP))
