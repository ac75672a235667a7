"""Studies of a trained model at a longer context: their plans, outcomes and files. Imports no torch."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from posenc.core import plain_file
from posenc.core.declared_fields import Declared, Instance, Real, Whole
from posenc.core.plain_file import json_of, write_whole
from posenc.lab.experiment import LONGEST, Experiment, digest
from posenc.lab.result import Count, InstancesOf, Versions
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.task_table import experiment

#: How many lengths are read, in equal steps up to the one to reach.
LENGTHS = 4
TASKS = ("character-lm", "needle")
#: A study has a few numbers for each way and length.
LARGEST_FILE = 1 << 24


@dataclass(frozen=True)
class Study(Declared):
    """A trained model and all ways to a longer context.

    Args:
        experiment: The model and its training; its encoding is one RoPE without a scaling, its task a language model or
            the needle.
        length: To reach, longer than the experiment's.
        tuning: Steps of training at that length.
        sequences: That are read at each length.
        candidates: How many lists of divisors the search tries.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.lab.tasks.task_table import experiment
        >>> Study(experiment("RoPE(dim=16)", "needle"), 256).lengths
        (64, 128, 192, 256)
    """

    experiment: Annotated[Experiment, Instance("an Experiment")]
    length: Annotated[int, Whole(2, LONGEST)]
    tuning: Annotated[int, Whole(0, 10**9)] = 50
    sequences: Annotated[int, Whole(8, 1 << 20)] = 64
    candidates: Annotated[int, Whole(1, 10**6)] = 16

    def _check_together(self) -> None:
        if self.length <= self.experiment.length:
            raise ValueError(
                f"length must exceed the trained length, {self.experiment.length}; got {self.length}. Ask for a longer."
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths that are read: equal steps, and the trained length. Losses are of the last trained/4 tokens."""
        least = max(1, self.experiment.length // 4)
        steps = {max(least, self.length * part // LENGTHS) for part in range(1, LENGTHS + 1)}
        return tuple(sorted(steps | {self.experiment.length}))

    @property
    def identity(self) -> str:
        """A name for the study: 16 hexadecimal digits of SHA-256 over all fields."""
        return digest(json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":")))


@dataclass(frozen=True)
class ValuesByLength:
    """Rule that checks a field: (length, values) for each length.

    There is a value for each depth of the fact asked for, from the start of the text to its end, or a single one.
    """

    def __call__(self, name: str, value: Any) -> tuple[tuple[int, tuple[float, ...]], ...]:
        return tuple((int(length), tuple(map(float, values))) for length, values in value)


@dataclass(frozen=True)
class Extended(Declared):
    """Measurement of a way at each length.

    Args:
        way: Its name.
        encoding: Of the positions of long contexts.
        steps: Of training at the new length.
        values: By length, losses in nats a token of the same last tokens with more and more context, or the share of
            needles found.
    """

    way: Annotated[str, Instance("a name")]
    encoding: Annotated[str, Instance("an encoding as text")]
    steps: Count
    values: Annotated[tuple[tuple[int, tuple[float, ...]], ...], ValuesByLength()]

    def at(self, length: int) -> float:
        """Mean of the values at a length."""
        values = dict(self.values)[length]
        return sum(values) / len(values)


@dataclass(frozen=True)
class Extension(Declared):
    """Outcome of a study.

    Args:
        study: What was done.
        ways: The measurements.
        seconds: Of processor time.
        versions: Of packages.
    """

    study: Annotated[Study, Instance("a Study")]
    ways: Annotated[tuple[Extended, ...], InstancesOf(Extended)]
    seconds: Annotated[float, Real(0.0, 1e12)] = 0.0
    versions: Annotated[tuple[tuple[str, str], ...], Versions()] = ()

    def to_json(self) -> str:
        """The outcome as JSON."""
        return json.dumps(dataclasses.asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read an outcome from JSON."""
        fields = json_of(text)
        study = fields["study"]
        fields["study"] = Study(**{**study, "experiment": Experiment(**study["experiment"])})
        fields["ways"] = tuple(Extended(**each) for each in fields["ways"])
        return cls(**fields)


class Budget(NamedTuple):
    """Budget of a study of a task.

    Args:
        length: To reach.
        sequences: Read at each length.
        training: Fields of the experiment.
    """

    length: int
    sequences: int
    training: dict[str, Any]


#: One needle with an older value of its key, in an encoder: without positions it knows no order, and at best guesses
#: which of two is the later one.
BUDGETS = {
    "character-lm": Budget(256, 64, {"steps": 500, "batch": 16}),
    "needle": Budget(
        256, 32, {"model": "encoder", "steps": 800, "batch": 16, "options": (("needles", 1), ("updates", 1))}
    ),
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
    """Plan a study for each seed and task, all tasks of a seed before the next seed.

    Args:
        encoding: A RoPE without a scaling, as text.
        tasks: Of `TASKS`.
        length: To reach; that of the task's budget where None.
        trained: The training length; the task's own where None.
        seeds: How many.
        steps: Of training; those of the task's budget where None.
        tuning: Steps at the new length.
        text: A file to learn from, for language models; the English that ships with Python where None.

    Returns:
        The studies.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
    """
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more; got {seeds}. Use 5 for a verdict.")
    changes: dict[str, Any] = {} if steps is None else {"steps": steps}
    if trained is not None:
        changes |= {"length": trained, "test_lengths": (trained,)}
    # The text of another Python is another task.
    options = {"options": text_options("" if text is None else str(text))} if TASKS[0] in tasks else {}

    def study(task: str, seed: int) -> Study:
        usual = BUDGETS[task]
        own = usual.training | changes | (options if task == TASKS[0] else {})
        return Study(
            experiment(encoding, task, seed, **own), usual.length if length is None else length, tuning, usual.sequences
        )

    return tuple(study(task, seed) for seed in range(seeds) for task in dict.fromkeys(tasks))


def read_extension(folder: str | os.PathLike[str], study: Study) -> Extension | None:
    """Read the outcome of a study from its file.

    Args:
        folder: Has a file for each finished study.
        study: To look for.

    Returns:
        The outcome, or None where the study is not finished.

    Raises:
        ValueError: The file is damaged; the message names it.
    """
    path = _path(folder, study)
    if not path.exists():
        return None
    text = plain_file.read_bytes(path, LARGEST_FILE, advice="Move it away; its run is then repeated.")
    try:
        extension = Extension.from_json(text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {str(error).rstrip('.')}. Delete it; its run is then repeated.") from None
    if extension.study != study:
        raise ValueError(f"{path} holds another study than its name says. Delete it; its run is then repeated.")
    return extension


def write_extension(folder: str | os.PathLike[str], extension: Extension) -> Path:
    """Write the outcome of a study to its file, atomically.

    Args:
        folder: Made where it does not exist.
        extension: The outcome.

    Returns:
        The path; the file is on disk by then.
    """
    path = _path(folder, extension.study)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, (extension.to_json() + "\n").encode())


def _path(folder: str | os.PathLike[str], study: Study) -> Path:
    one = study.experiment
    return Path(folder) / f"{one.task}-seed-{one.seed}-{study.identity}.json"
