"""A line on a terminal's stderr while an answer takes a few seconds, gone once it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Say what is being done while the context lasts; say nothing where stderr is no terminal.

    Args:
        doing: What is being done, in a few words.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(file=sys.stderr).status(doing):
        yield
