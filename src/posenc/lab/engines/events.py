"""Jobs, the events that engines yield of them, and the functions that jobs call. Imports no torch."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from posenc.lab.experiment import Experiment
    from posenc.lab.result import Progress, Result
    from posenc.lab.tour_plan import TourModel


class Job(NamedTuple):
    """A generator function to call where the job runs.

    Args:
        name: For messages.
        function: As "module:name".
        arguments: Of the function.
    """

    name: str
    function: str
    arguments: tuple[Any, ...]

    def reports(self) -> Iterator[Any]:
        """Do the job here and yield its reports.

        Example:
            >>> list(Job("three", "builtins:range", (3,)).reports())
            [0, 1, 2]
        """
        module, _, name = self.function.partition(":")
        yield from getattr(importlib.import_module(module), name)(*self.arguments)


class Failure(NamedTuple):
    """End of a job without a result, and why, in a line."""

    message: str


class Finished(NamedTuple):
    """End of a job's reports."""


class Event(NamedTuple):
    """A report of a job.

    Args:
        job: Its index in the list.
        report: Whatever its function yielded, `Finished` or a `Failure`.
    """

    job: int
    report: Any


def failure(error: Exception) -> Failure:
    """Make a Failure that tells type and message of an exception in one line."""
    return Failure(f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}")


def last_report(job: Job) -> Any:
    """Do the job here and return its last report, or a `Failure` where it raised or reported nothing."""
    try:
        last = deque(job.reports(), maxlen=1)
    except Exception as error:
        return failure(error)
    return last[0] if last else Failure("it reported nothing")


def train_experiment(experiment: Experiment, device: str = "cpu", checkpoint: str = "") -> Iterator[Progress | Result]:
    """Run `posenc.lab.trial.run` reproducibly, in a process of its own, with a checkpoint in a file if one is named."""
    from posenc.lab import trial
    from posenc.lab.machine import reproducible
    from posenc.lab.train import RunCheckpoint

    reproducible(device)
    kept = RunCheckpoint(Path(checkpoint), experiment, device) if checkpoint else None
    yield from trial.run(experiment, device=device, checkpoint=kept)


def train_tour_model(name: str, experiment: Experiment) -> Iterator[Progress | TourModel]:
    """Run `posenc.lab.tour_model.train_and_show` reproducibly, in a process of its own."""
    from posenc.lab import tour_model
    from posenc.lab.machine import reproducible

    reproducible()
    yield from tour_model.train_and_show(name, experiment)


def needed(package: str, extra: str) -> Any:
    """Import a package that only some engines need.

    Raises:
        ValueError: It is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ValueError(
            f"{package} must be installed here; it is not. Run: pip install {package} (the extra [{extra}] has it), "
            "or use another engine."
        ) from None
