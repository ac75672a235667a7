"""Plans of studies, and running those whose roles are not kept yet, on any engine. Imports no torch."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import Any

from posenc.lab.engines.events import Job
from posenc.lab.frequency_roles.roles import FrequencyRoles, Level, RolesStudy
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.running import Engine, RunEvent, name_of
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.language import CharacterLM
from posenc.lab.tasks.task_table import experiment, task_row

#: Name of the file in the folder of a command.
KEPT = "roles.jsonl"
WORK = "posenc.lab.frequency_roles.lab_roles:study_roles"


def plan_roles(
    encoding: str = "RoPE(dim=16)",
    task: str = "character-lm",
    *,
    steps: int = 600,
    seeds: int = 5,
    length: int | None = None,
    text: str | None = None,
    by: Level = "model",
    windows: int = 128,
) -> tuple[RolesStudy, ...]:
    """Plan a study for each seed.

    Args:
        encoding: With a rotation, as text.
        task: A name.
        steps: Of training, of 16 sequences.
        seeds: How many.
        length: The training length; that of the task where None.
        text: A file to learn from, for language models; the English that ships with Python where None.
        by: What is changed at once.
        windows: That are read.

    Returns:
        The studies.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
    """
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more; got {seeds}. Use 5 for intervals.")
    row = task_row(task)
    if text is not None and not issubclass(row.kind, CharacterLM):
        raise ValueError(f"text must be left out for the task {task}, which reads none. Use character-lm.")
    length = row.length if length is None else length
    changes: dict[str, Any] = {"length": length, "test_lengths": (length,), "steps": steps, "batch": 16}
    if issubclass(row.kind, CharacterLM):  # the text of another Python is another task
        changes["options"] = text_options(text or "")
    return tuple(RolesStudy(experiment(encoding, task, seed, **changes), by, windows) for seed in range(seeds))


def missing_studies(studies: Sequence[RolesStudy], kept: KeptMeasurements) -> tuple[RolesStudy, ...]:
    """The studies whose roles are not kept."""
    return tuple(each for each in dict.fromkeys(studies) if each.identity not in kept.known)


def run_studies(
    studies: Sequence[RolesStudy], engine: Engine, kept: KeptMeasurements
) -> Generator[RunEvent, None, None]:
    """Run studies, and keep the roles of each when they come.

    Args:
        studies: That are not kept.
        engine: Does the jobs.
        kept: Gets the roles.

    Yields:
        Reports of the studies as they come.
    """
    jobs = [Job(f"roles of {name_of(each.experiment)}", WORK, (each,)) for each in studies]
    with contextlib.closing(engine(jobs)) as events:
        for index, report in events:
            if isinstance(report, FrequencyRoles):
                kept.add(studies[index].identity, report.to_fields())
            yield RunEvent(studies[index].experiment, report)


def kept_roles(studies: Sequence[RolesStudy], kept: KeptMeasurements) -> dict[str, FrequencyRoles]:
    """Roles of the studies that are kept, by identity."""
    found = [each.identity for each in studies if each.identity in kept.known]
    return {identity: FrequencyRoles.from_fields(kept.known[identity]) for identity in found}
