"""Running the experiments whose results a store lacks, on any engine. Imports no torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from posenc.lab.engines.events import Event, Failure, Job
from posenc.lab.experiment import Experiment
from posenc.lab.result import Progress, Result, package_versions
from posenc.lab.store import Store

Engine = Callable[[Sequence[Job]], Generator[Event, None, None]]
CHECKPOINTS = "checkpoints"
TRAIN = "posenc.lab.engines.events:train_experiment"


class RunEvent(NamedTuple):
    """Report of a run.

    Args:
        experiment: The run.
        report: `Progress`, and at last a `Failure` or the result, which is on disk by then.
    """

    experiment: Experiment
    report: object

    @property
    def line(self) -> str:
        """The run, and why it failed where it did.

        Example:
            >>> RunEvent(Experiment("RoPE(dim=16)", "copy"), Failure("ValueError: no")).line
            'RoPE(dim=16) on copy, seed 0 failed: ValueError: no'
        """
        name = name_of(self.experiment)
        return f"{name} failed: {self.report.message}" if isinstance(self.report, Failure) else name


def name_of(experiment: Experiment) -> str:
    """Name of a run among those of its comparison, for messages."""
    return f"{experiment.encoding} on {experiment.task}, seed {experiment.seed}"


def run_missing(
    experiments: Sequence[Experiment],
    store: Store,
    engine: Engine,
    function: str = "",
    device: str = "cpu",
    *,
    checkpoints: bool = False,
) -> Generator[RunEvent, None, None]:
    """Run each experiment that has no result in the store, in this order, and store each result when it comes.

    Args:
        experiments: The runs; repeats are run once.
        store: Gets the results.
        engine: Does the jobs.
        function: A generator function "module:name" of an experiment and a device, whose last report is its `Result`;
            `TRAIN` where it is "".
        device: Of PyTorch, where the run is done.
        checkpoints: Keep runs under way in the folder, from where they go on after a stop; the engine must see it.

    Yields:
        Reports of the runs as they come.
    """
    kept = {each.identity: store.folder.resolve() / CHECKPOINTS / f"{each.identity}.pt" for each in experiments}
    missing = [each for each in dict.fromkeys(experiments) if each.identity not in store.results]
    jobs = [
        Job(name_of(each), function or TRAIN, (each, device, *([str(kept[each.identity])] if checkpoints else [])))
        for each in missing
    ]
    events = engine(jobs)
    try:
        for index, report in events:
            step = RunEvent(missing[index], _report_of_run(missing[index], report))
            if isinstance(step.report, Result):
                store.add(step.report)
                kept[missing[index].identity].unlink(missing_ok=True)
            yield step
    finally:
        events.close()
        with contextlib.suppress(OSError):  # others are under way
            (store.folder / CHECKPOINTS).rmdir()


class Versioned(Protocol):
    """Result that says by which versions of packages it was made."""

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a package and its version."""


def check_versions(results: Iterable[Versioned], name: str, *, may_mix: bool = False) -> None:
    """Check that results come from the package versions that are installed here.

    Args:
        results: That others will be added to.
        name: Of their folder.
        may_mix: Whether the command has the option --mix-versions.

    Raises:
        ValueError: They are not.
    """
    here = dict(package_versions())
    for result in results:
        there = dict(result.versions)
        other = [package for package, version in here.items() if there.get(package, version) != version]
        if other:
            theirs, ours = (", ".join(f"{each} {of[each]}" for each in other) for of in (there, here))
            raise ValueError(
                f"out must hold results of one set of versions; {name!r} has {theirs}, and here is {ours}. Use another "
                f"--out{', or --mix-versions, which the report then says' if may_mix else ''}."
            )


def run_stages(
    stages: Iterable[Sequence[Experiment]],
    store: Store,
    engine: Engine,
    function: str = "",
    device: str = "cpu",
    *,
    checkpoints: bool = False,
) -> Generator[RunEvent, None, None]:
    """Run stage after stage as `run_missing` does, each when the one before has ended."""
    for stage in stages:
        yield from run_missing(stage, store, engine, function, device, checkpoints=checkpoints)


def _report_of_run(experiment: Experiment, report: Any) -> Progress | Result | Failure:
    """The report if it is about this experiment, and otherwise a `Failure`."""
    if isinstance(report, Progress | Failure):
        return report
    if isinstance(report, Result) and report.experiment == experiment:
        return report
    return Failure(f"it reported {str(report)[:80]!r}, which is no result of this run")
