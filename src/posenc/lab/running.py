"""Runs the experiments whose results a store lacks, on any engine. Loads no torch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from posenc.lab.engines.events import Event, Failure, Job
from posenc.lab.experiment import Experiment
from posenc.lab.result import Progress, Result
from posenc.lab.store import Store

Engine = Callable[[Sequence[Job]], Generator[Event, None, None]]
TRAIN = "posenc.lab.engines.in_worker:train"


class Step(NamedTuple):
    """What a run reports. A `Result` is on disk when it is yielded."""

    experiment: Experiment
    report: Progress | Result | Failure


def run_missing(
    experiments: Sequence[Experiment], store: Store, engine: Engine, function: str = TRAIN
) -> Generator[Step, None, None]:
    """Run each experiment that has no result in the store, in this order, and store each result when it comes.

    function: a generator function "module:name" of an experiment, whose last report is its `Result`.
    """
    missing = [each for each in dict.fromkeys(experiments) if each.identity not in store.results]
    jobs = [Job(f"{each.encoding} on {each.task}, seed {each.seed}", function, (each,)) for each in missing]
    events = engine(jobs)
    try:
        for index, report in events:
            step = Step(missing[index], _checked(missing[index], report))
            if isinstance(step.report, Result):
                store.add(step.report)
            yield step
    finally:
        events.close()


def _checked(experiment: Experiment, report: Any) -> Progress | Result | Failure:
    """The report, if it is one, and about this experiment."""
    if isinstance(report, Progress | Failure):
        return report
    if isinstance(report, Result) and report.experiment == experiment:
        return report
    return Failure(f"it reported {str(report)[:80]!r}, which is no result of this run")
