"""Jobs, what an engine yields of them, and the functions that they call. Loads no torch."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from posenc.lab.data import Corpus
    from posenc.lab.experiment import Experiment
    from posenc.lab.result import Progress, Result
    from posenc.lab.tour_plan import Candidate, TrainingOutcome, TrainingRecipe


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


def train_experiment(experiment: Experiment, device: str = "cpu") -> Iterator[Progress | Result]:
    """`posenc.lab.trial.run`, in a process of its own."""
    from posenc.lab import trial
    from posenc.lab.machine import reproducible

    reproducible(device)
    yield from trial.run(experiment, device=device)


def train_candidate(
    candidate: Candidate, corpus: Corpus, recipe: TrainingRecipe
) -> Iterator[Progress | TrainingOutcome]:
    """`posenc.lab.tour_training.train_and_measure`, a run of the tour, in a process of its own."""
    from posenc.lab import tour_training
    from posenc.lab.machine import reproducible

    reproducible()
    yield from tour_training.train_and_measure(candidate, corpus, recipe)


def needed(package: str, extra: str) -> Any:
    """The package, or a ValueError in one line that says how to install it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ValueError(
            f"{package} must be installed here; it is not. Run: pip install {package} (the extra [{extra}] has it), "
            "or use another engine."
        ) from None
