"""Which studies a command asks for. Loads no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from posenc.lab.extension_study.study import Study
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.task_table import experiment

TASKS = ("character-lm", "needle")


class Budget(NamedTuple):
    """What a study spends on a task.

    Args:
        length: To reach.
        sequences: Read at each length.
    """

    length: int
    sequences: int
    training: dict[str, Any]


#: One needle, so that a short training learns to find it; at four times its length it is still found by every way.
BUDGETS = {
    "character-lm": Budget(256, 64, {"steps": 500, "batch": 16}),
    "needle": Budget(1024, 32, {"steps": 400, "batch": 16, "options": (("needles", 1),)}),
}


def plan_extension(
    encoding: str,
    tasks: Sequence[str],
    *,
    length: int | None = None,
    trained: int | None = None,
    seeds: int = 5,
    steps: int | None = None,
    tuning: int = 50,
    text: Path | None = None,
) -> tuple[Study, ...]:
    """A study for each seed and task, all tasks of a seed before the next. ValueError names a wrong argument."""
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more; got {seeds}. Use 5 for a verdict.")
    changes: dict[str, Any] = {} if steps is None else {"steps": steps}
    if trained is not None:
        changes |= {"length": trained, "test_lengths": (trained,)}
    options = {} if text is None else {"options": text_options(str(text))}

    def study(task: str, seed: int) -> Study:
        usual = BUDGETS[task]
        own = usual.training | changes | (options if task == TASKS[0] else {})
        return Study(experiment(encoding, task, seed, **own), length or usual.length, tuning, usual.sequences)

    return tuple(study(task, seed) for seed in range(seeds) for task in dict.fromkeys(tasks))
