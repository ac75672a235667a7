"""Lines to a terminal: one at a time, every character of them harmless and writable."""

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
    """The command was right, and what it names could not be judged."""


@contextlib.contextmanager
def wide_enough() -> Iterator[None]:
    """Set COLUMNS to the narrowest width of help, for a while, where the terminal is narrower.

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
    """A line wrapped between words at the width of a terminal; as it is where a program reads it."""
    width = terminal_width(stream)
    return line if width is None else wrapped(line, width)


def text_width(text: str) -> int:
    """Columns that text takes in a terminal: two for each wide character, as those of Chinese, none for an accent."""
    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def wrapped(text: str, width: int) -> str:
    """Text of which no sentence is wider than this; drawn boxes and commands to copy stay as they are."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    """Lines of at most this width, the first word of each below the first word of the text; no word is broken."""
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
    """Print a line to the reader, apart from the answer."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        # In one piece, since threads say lines too.
        print(f"{wrapped_for(line, sys.stderr)}\n", end="", file=sys.stderr)


def write_every_character() -> None:
    """Write the number of a character that the encoding of a terminal lacks (cp1252: an arrow, say)."""
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
    """List the interrupts so far.

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
