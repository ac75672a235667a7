"""Terminal output: widths and wrapping, lines on stderr, characters that cannot be encoded, and interrupts."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TextIO
from unicodedata import combining, east_asian_width

#: The fewest columns that help is laid out for.
NARROWEST_HELP = 40
#: No sentence and no table is laid out for fewer columns.
NARROWEST = 20
#: Columns of a terminal that does not say how many it has.
USUAL_WIDTH = 80
#: The beginning of a line whose text goes on below itself: its indentation, or a name and the blanks behind it.
HANGING = re.compile(r" *(?:\S+(?: \S+)* {2,})?")
#: Lines that stay as they are: drawn ones, those with styles, and commands to copy.
WHOLE = re.compile(r"[│╭╰\x1b]|^usage:|^ +posenc ")
#: A word with the blanks before it.
WORD = re.compile(r"\s*\S+")


class UnjudgedError(ValueError):
    """A valid command whose target could not be judged; its exit code is apart from that of wrong usage."""


@contextlib.contextmanager
def wide_enough() -> Iterator[None]:
    """Within the context, raise COLUMNS to NARROWEST_HELP if the terminal is narrower.

    Tyro draws boxes, and never ends where none fits.
    """
    stated = os.environ.get("COLUMNS")
    if shutil.get_terminal_size().columns < NARROWEST_HELP:
        os.environ["COLUMNS"] = str(NARROWEST_HELP)
    try:
        yield
    finally:
        os.environ.pop("COLUMNS", None)
        if stated is not None:
            os.environ["COLUMNS"] = stated


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal that a stream writes to, or None where it writes to a file or a pipe."""
    if not stream.isatty():
        return None
    stated = os.environ.get("COLUMNS", "")
    width = int(stated) if stated.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    return max(width or USUAL_WIDTH, NARROWEST)


def wrapped_for(line: str, stream: TextIO) -> str:
    """Wrap a line between words to the terminal's width; return it unchanged if `stream` is a file or a pipe."""
    width = terminal_width(stream)
    return line if width is None else wrapped(line, width)


def text_width(text: str) -> int:
    """Columns that text takes in a terminal: two for each wide character, as those of Chinese, none for an accent."""
    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def wrapped(text: str, width: int) -> str:
    """Wrap text to `width` columns; drawn boxes, styled lines and commands to copy stay whole."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    """Wrap one line between words, with a hanging indent below its label; words wider than `width` stay whole."""
    if text_width(line) <= width or WHOLE.search(line):
        return [line]
    found = HANGING.match(line)
    head = found[0] if found and text_width(found[0]) <= width // 2 else line[: len(line) - len(line.lstrip())]
    parts = [head]
    for word in WORD.findall(line[len(head) :]):
        if parts[-1].strip() and text_width(parts[-1] + word) > width:
            parts.append(" " * text_width(head) + word.lstrip())
        else:
            parts[-1] += word
    return parts


def say(line: str) -> None:
    """Print a line to stderr, wrapped to its terminal, apart from the answer on stdout; errors are ignored."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        # In one piece, since threads say lines too.
        print(f"{wrapped_for(line, sys.stderr)}\n", end="", file=sys.stderr)


def write_every_character() -> None:
    """Make stdout and stderr print characters that they cannot encode (an arrow in cp1252) as backslash escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def flushed_stdout() -> Iterator[None]:
    """Flush stdout at the end, so that whatever was printed has reached it.

    An error of stdout itself is told from one of a file: it has no name.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise ValueError(f"stdout must take what is printed; {error.strerror}. Send it somewhere else.") from None


@contextlib.contextmanager
def noticed_interrupts() -> Iterator[list[int]]:
    """Context manager: record each Ctrl-C in the list that it yields.

    Ctrl-C raises KeyboardInterrupt as ever, which code that is being loaded may turn into an error of its own, as the
    compiled modules of NumPy do.
    """
    interrupts: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = ours and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupts
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
