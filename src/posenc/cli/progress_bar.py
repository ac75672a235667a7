"""A bar for a long run, with the time left; plain lines where there is no terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from posenc.cli.terminal import say
from posenc.core.text_lines import escaped
from posenc.lab.engines.events import Failure
from posenc.lab.result import Progress
from posenc.lab.running import RunEvent, name_of

#: Without a terminal, a line at most every so many seconds.
SECONDS = 30.0
Result = TypeVar("Result")


def run_with_progress(events: Generator[RunEvent, None, None], runs: int, kept: int = 0) -> list[str]:
    """Drive a generator of run events to its end behind a progress bar; `kept` of the `runs` are finished already.

    Failures are told at once, and returned, a line each.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs, left"), TimeRemainingColumn())
    note = TextColumn("{task.fields[note]}", markup=False)
    part: dict[str, float] = {}
    failed: list[str] = []
    finished, said = kept, time.monotonic()
    bars = Bars(*columns, note, console=Console(stderr=True), disable=not sys.stderr.isatty())
    with contextlib.closing(events), bars:
        bar = bars.add_task("runs", total=runs, completed=kept, note="")
        for event in events:
            one, report = event.experiment, event.report
            part[one.identity] = report.step / one.steps if isinstance(report, Progress) else 1.0
            came_out = not isinstance(report, Progress | Failure)
            finished += came_out
            bars.update(bar, completed=kept + sum(part.values()), note=escaped(name_of(one)[:60]))
            if isinstance(report, Failure):
                failed.append(event.line)
                _tell(bars, escaped(event.line))
            due = finished == runs or time.monotonic() - said > SECONDS
            if bars.disable and came_out and due:
                said = time.monotonic()
                say(f"{finished} of {runs} runs finished")
    return failed


def count_with_progress(events: Iterable[tuple[int, int] | Result], unit: str) -> Result:
    """Drive an iterable of (done, total) pairs to its end behind a progress bar, and return the result it yields last.

    Args:
        events: Pairs (done, total) as work proceeds, then the result.
        unit: What is counted, in the plural.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(f"{unit}, left"), TimeRemainingColumn())
    bars = Bars(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
    said, last = time.monotonic(), None
    with bars:
        bar = bars.add_task("", total=None)
        for event in events:
            if not isinstance(event, tuple):
                last = event
                continue
            bars.update(bar, completed=event[0], total=event[1])
            if bars.disable and time.monotonic() - said > SECONDS:
                said = time.monotonic()
                say(f"{event[0]} of {event[1]} {unit} finished")
    if last is None:
        raise RuntimeError("the measurements ended without a result")
    return last


def _tell(bars: Any, line: str) -> None:
    if bars.disable:
        say(line)
    else:
        bars.console.print(line, markup=False, highlight=False)
