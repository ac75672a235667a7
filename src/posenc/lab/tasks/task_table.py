"""Table of the lab's tasks, a row each."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from posenc.diagnosis.code.user_file import load_target
from posenc.lab.experiment import Experiment
from posenc.lab.tasks import algorithmic, language, lookup, wmt14, written
from posenc.lab.tasks.task import Task, TaskRow

TASKS: tuple[TaskRow, ...] = (
    *lookup.ROWS,
    *algorithmic.ROWS,
    algorithmic.PARITY,
    *language.ROWS,
    *written.ROWS,
    wmt14.ROW,
)


def task_row(name: str) -> TaskRow:
    """The row of a task.

    Args:
        name: Of the table; or FILE.py:NAME for a subclass of `Task`, which a decoder or an encoder may do, or for a
            `TaskRow`, which says more.

    Raises:
        ValueError: There is no such task; the message suggests a near one.

    Example:
        >>> task_row("copy").unit
        'symbols'
    """
    for row in TASKS:
        if row.name == name:
            return row
    if ".py" in str(name):
        return _own_row(name)
    names = [row.name for row in TASKS]
    near = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.5)
    advice = f"Did you mean {near[0]}?" if near else "Choose one of them."
    raise ValueError(f"task must be one of {', '.join(names)}; got {str(name)[:80]!r}. {advice}")


def _own_row(name: str) -> TaskRow:
    """The row of a task of the user's own, whose file is run."""
    found = load_target(name)
    if isinstance(found, TaskRow):
        return dataclasses.replace(found, name=name)
    if not inspect.isclass(found) or not issubclass(found, Task):
        raise ValueError(
            f"task must be a subclass of posenc.lab.tasks.task.Task or a TaskRow; got {name}, which is "
            f"{found.__name__ if inspect.isclass(found) else type(found).__name__}. Derive it from Task."
        )
    if inspect.isabstract(found):
        raise ValueError(f"task must define vocabulary and batch; {name} does not. See docs/lab.md.")
    return TaskRow(name, found, "", "", ("decoder", "encoder"))


def task_of(experiment: Experiment) -> Task:
    """The task of an experiment, with its options.

    Raises:
        ValueError: The task does not have one of the options.
    """
    row, given = task_row(experiment.task), dict(experiment.options)
    names = [field.name for field in dataclasses.fields(row.kind)]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"options must be those of the task {row.name}, {', '.join(names) or 'which has none'}; got "
            f"{', '.join(unknown)}. Leave it out."
        )
    return row.kind(**given)


def experiment(encoding: str, task: str, seed: int = 0, **changes: Any) -> Experiment:
    """Make an experiment with the usual length, test lengths, steps, model and options of its task.

    Args:
        encoding: As `Experiment` takes it.
        task: A name.
        seed: Of the run.
        changes: Other fields of `Experiment`.

    Returns:
        The experiment.

    Raises:
        ValueError: A value breaks its rule; the message names the field.

    Example:
        >>> experiment("RoPE(dim=16)", "fixed-offset").model
        'encoder'
    """
    row = task_row(task)
    usual: Mapping[str, Any] = {
        "length": row.length,
        "test_lengths": row.test_lengths,
        "steps": row.steps,
        "model": row.models[0],
        "options": row.options,
    }
    return Experiment(encoding=encoding, task=task, seed=seed, **{**usual, **changes})
