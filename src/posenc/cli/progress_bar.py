"""One bar for a long run, with the time left; plain lines where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable

from posenc.cli.terminal import escaped, say
from posenc.lab.engines.events import Failure
from posenc.lab.result import Progress
from posenc.lab.running import RunEvent, name_of

#: Without a terminal, a line at most every so many seconds.
SECONDS = 30.0


def shown(steps: Iterable[RunEvent], runs: int) -> Generator[RunEvent, None, None]:
    """The steps, unchanged, with a bar that counts the training steps of `runs` runs. Failures are told at once."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs, left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    part: dict[str, float] = {}
    finished, said = 0, time.monotonic()
    with Bars(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("runs", total=runs, note="")
        for step in steps:
            yield step
            one, report = step.experiment, step.report
            part[one.identity] = report.step / one.steps if isinstance(report, Progress) else 1.0
            came_out = not isinstance(report, Progress | Failure)
            finished += came_out
            bars.update(bar, completed=sum(part.values()), note=escaped(name_of(one)[:60]))
            if isinstance(report, Failure) and not bars.disable:
                bars.console.print(escaped(step.line), markup=False, highlight=False)
            elif isinstance(report, Failure):
                say(escaped(step.line))
            due = finished == runs or time.monotonic() - said > SECONDS
            if bars.disable and came_out and due:
                said = time.monotonic()
                say(f"{finished} of {runs} runs finished")
