"""Errors of encodings and tasks of the user's own, each in a line that names the file."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from posenc.diagnosis.code.user_file import error_line
from posenc.lab.encodings import own_python_files
from posenc.lab.experiment import Experiment
from posenc.lab.tasks.task import NOTHING, Task
from posenc.lab.train import DivergedError


class OwnCodeError(ValueError):
    """Error in an encoding or a task of the user's own, as one line that names its file."""


@contextlib.contextmanager
def blaming(experiment: Experiment) -> Iterator[None]:
    """Turn errors in the `with` block that the user's own code causes into an OwnCodeError of one line."""
    try:
        yield
    except Exception as error:
        blame(error, experiment)
        files = own_python_files(experiment)
        if files and not isinstance(error, ValueError | DivergedError):  # what it gave broke something later on
            raise OwnCodeError(error_line(error, files[0])) from None
        raise


def blame(error: Exception, experiment: Experiment) -> None:
    """Raise an OwnCodeError if the error passed through a file of the user's own; otherwise do nothing."""
    frames = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    for file in map(str, (Path(name).resolve() for name in own_python_files(experiment))):
        if file in frames:
            raise OwnCodeError(error_line(error, file)) from None


def check_own_task(task: Task, experiment: Experiment) -> None:
    """Check batches of a task of the user's own, in training and at each test length."""
    rng, size = np.random.default_rng(0), 3
    drawn = [task.batch(rng, size, experiment.length)]
    drawn += [task.test_batch(rng, size, length) for length in experiment.test_lengths]
    for batch in drawn:
        tokens, targets = np.asarray(batch.tokens), np.asarray(batch.targets)
        rule = f"task must give integer tokens and targets of one shape ({size}, n), from 0 to {task.vocabulary - 1}"
        if tokens.shape != targets.shape or tokens.ndim != 2 or len(tokens) != size:
            raise OwnCodeError(f"{rule}; {experiment.task} gives {tokens.shape} and {targets.shape}.")
        if tokens.dtype != np.int64 or targets.dtype != np.int64:
            raise OwnCodeError(f"{rule}, as int64; {experiment.task} gives {tokens.dtype} and {targets.dtype}.")
        predicted = targets[targets != NOTHING]
        if not predicted.size:
            raise OwnCodeError(f"task must predict something; all targets of {experiment.task} are {NOTHING}.")
        for name, values, most in (("tokens", tokens, task.tokens), ("targets", predicted, task.vocabulary)):
            if values.min() < 0 or values.max() >= most:
                raise OwnCodeError(f"{rule}; {experiment.task} gives {name} from {values.min()} to {values.max()}.")
