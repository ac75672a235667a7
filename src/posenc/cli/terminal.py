"""Lines to a terminal: one at a time, every character of them harmless and writable."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

#: The fewest columns that help is laid out for.
NARROWEST_HELP = 40


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


def say(line: str) -> None:
    """Print a line to the reader, apart from the answer."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"{line}\n", end="", file=sys.stderr)  # in one piece, since threads say lines too


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
