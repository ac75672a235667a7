"""Jobs on Slurm, submitted as one array by submitit; each takes one processor core, or that and a GPU."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from posenc.lab.engines.events import Event, Failure, Job, last_report
from posenc.lab.engines.needed import needed


def run(
    jobs: Sequence[Job],
    folder: str | os.PathLike[str],
    parameters: Mapping[str, Any],
    *,
    cluster: str = "slurm",
    gpus: int = 0,
) -> Generator[Event, None, None]:
    """The last report of each job, as they come, or its `Failure`.

    Args:
        folder: Of submitit's scripts and logs, on a disk that all machines share.
        parameters: Of submitit, such as slurm_partition or timeout_min.
        cluster: "slurm", or "local" for submitit's processes on this machine.
        gpus: Of each job.
    """
    if not jobs:
        return
    submitit = needed("submitit", "slurm")
    if cluster == "slurm" and shutil.which("srun") is None:
        raise ValueError("slurm must be installed where this runs; srun is not found. Log in to a machine that has it.")
    executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
    try:
        executor.update_parameters(**{"cpus_per_task": 1, **({"gpus_per_node": gpus} if gpus else {}), **parameters})
    except (NameError, TypeError, ValueError) as error:
        raise ValueError(f"slurm must be given parameters of submitit; {' '.join(str(error).split())[:300]}") from None
    with executor.batch():
        submitted = [executor.submit(last_report, job) for job in jobs]
    indices = {job.job_id: index for index, job in enumerate(submitted)}
    try:
        for job in submitit.helpers.as_completed(submitted, poll_frequency=0.5):
            index = indices.pop(job.job_id)
            try:
                yield Event(index, job.result())
            except Exception as error:
                yield Event(index, Failure(f"Slurm lost it: {' '.join(str(error).split())[-300:]}"))
    finally:
        for job in submitted:
            if job.job_id in indices:
                job.cancel()
