"""What an engine is given and what it yields. Loads no torch."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A generator function as "module:name", called with `arguments` where the job runs.

    Args:
        name: For messages.
    """

    name: str
    function: str
    arguments: tuple[Any, ...]

    def reports(self) -> Iterator[Any]:
        """Do the job here; the reports as they come.

        Example:
            >>> list(Job("three", "builtins:range", (3,)).reports())
            [0, 1, 2]
        """
        module, _, name = self.function.partition(":")
        yield from getattr(importlib.import_module(module), name)(*self.arguments)


class Failure(NamedTuple):
    """A job that ended without a result, and why, in one line."""

    message: str


class Finished(NamedTuple):
    """The end of a job's reports."""


class Event(NamedTuple):
    """What a job reports.

    Args:
        job: Its index in the list.
    """

    job: int
    report: Any


def failure(error: Exception) -> Failure:
    """An exception as a failure."""
    return Failure(f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}")


def last_report(job: Job) -> Any:
    """Do the job here; its last report, or a `Failure` where it raised or reported nothing."""
    try:
        last = deque(job.reports(), maxlen=1)
    except Exception as error:
        return failure(error)
    return last[0] if last else Failure("it reported nothing")
