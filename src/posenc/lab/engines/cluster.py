"""Engines of a cluster: Ray, and Slurm through submitit. Each job takes one core, or that and a GPU."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from posenc.lab.engines.events import Event, Failure, Job, last_report, needed

#: How often Ray runs a job again whose machine was lost.
RETRIES = 2


def run_on_ray(jobs: Sequence[Job], gpus: int = 0) -> Generator[Event, None, None]:
    """Run jobs on Ray and yield the last report of each, as they come, or its `Failure`.

    Joins the cluster that the environment variable RAY_ADDRESS names, as Ray itself does, and otherwise starts Ray on
    this machine and shuts it down at the end. posenc must be installed on every machine of the cluster.

    Args:
        jobs: To run.
        gpus: Of each job.

    Yields:
        The last reports.

    Raises:
        ValueError: Ray is not installed, does not answer, or has no GPU where one is needed.
    """
    if not jobs:
        return
    ray = needed("ray", "ray")
    begun_here = not ray.is_initialized()
    if begun_here:
        joins = bool(os.environ.get("RAY_ADDRESS"))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's authors without being asked
        # Else Ray looks for the last cluster of this machine, and waits minutes for one that was killed.
        settings = {} if joins else {"address": "local", "include_dashboard": False}
        try:
            ray.init(log_to_driver=False, logging_level="error", **settings)
        except ConnectionError as error:
            raise ValueError(
                f"RAY_ADDRESS must name a running Ray cluster; got {os.environ.get('RAY_ADDRESS')!r}: "
                f"{' '.join(str(error).split())[:200]}. Start it with `ray start --head`, or unset RAY_ADDRESS."
            ) from None
    indices: dict[Any, int] = {}
    try:
        if gpus and not ray.cluster_resources().get("GPU"):
            raise ValueError("device must be one that the Ray cluster has; got 'cuda', and no machine of it has a GPU.")
        do = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(last_report)
        indices |= {do.remote(job): index for index, job in enumerate(jobs)}
        while indices:
            ready, _ = ray.wait(list(indices), num_returns=1, timeout=0.5)
            for reference in ready:
                index = indices.pop(reference)
                try:
                    yield Event(index, ray.get(reference))
                except ray.exceptions.RayError as error:
                    yield Event(index, Failure(f"Ray lost it: {' '.join(str(error).split())[:300]}"))
    finally:
        for reference in indices:
            ray.cancel(reference, force=True)
        if begun_here:
            ray.shutdown()


def run_on_slurm(
    jobs: Sequence[Job],
    folder: str | os.PathLike[str],
    parameters: Mapping[str, Any],
    *,
    cluster: str = "slurm",
    gpus: int = 0,
) -> Generator[Event, None, None]:
    """Run jobs on Slurm as one array and yield the last report of each, as they come, or its `Failure`.

    Args:
        jobs: To run.
        folder: Of submitit's scripts and logs, on a disk that all machines share.
        parameters: Of submitit, such as slurm_partition or timeout_min.
        cluster: "slurm", or "local" for submitit's processes on this machine.
        gpus: Of each job.

    Yields:
        The last reports.

    Raises:
        ValueError: submitit or Slurm is missing, or a parameter is unknown.
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
