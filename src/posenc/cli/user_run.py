"""Running a user's own code in this process: its errors are told from those of posenc."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import posenc
from posenc.cli.terminal import say
from posenc.core.text_lines import escaped
from posenc.diagnosis.code.user_file import error_line, file_and_name, quiet


@contextlib.contextmanager
def running_code_of(target: str) -> Iterator[None]:
    """While the code of FILE.py:NAME runs, send its printing to stderr, and print the traceback of its error there.

    Raises:
        ValueError: The code raised an error, in one line. Errors that a function of posenc raised pass through.
    """
    file = str(file_and_name(target)[0].resolve())
    try:
        with quiet():
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if raised_in.is_relative_to(Path(posenc.__file__).parent):
            raise
        shown = traceback.format_exception(error.with_traceback(_from_file(error.__traceback__, file)))
        for line in "".join(shown).splitlines():
            say(escaped(line))
        raise ValueError(f"{error_line(error, file)}. Your code raised it; its traceback is on stderr.") from None


def _from_file(frames: TracebackType | None, file: str) -> TracebackType | None:
    """The frames of a traceback from the first one in a file on; all of them where none is."""
    own = frames
    while own is not None and own.tb_frame.f_code.co_filename != file:
        own = own.tb_next
    return own or frames
