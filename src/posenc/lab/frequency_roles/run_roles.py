"""Running the studies whose roles are not kept yet, on any engine. Loads no torch."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from posenc.lab.engines.events import Job
from posenc.lab.frequency_roles.roles import FrequencyRoles, RolesStudy
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.running import Engine, RunEvent, name_of

#: Name of the file in the folder of a command.
KEPT = "roles.jsonl"
WORK = "posenc.lab.frequency_roles.lab_roles:study_roles"


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
