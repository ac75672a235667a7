"""Jobs on Ray: the machines of a cluster, or this one. Each job takes one processor core, or that and a GPU."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from typing import Any

from posenc.lab.engines.events import Event, Failure, Job, last_report
from posenc.lab.engines.needed import needed

#: How often Ray runs a job again whose machine was lost.
RETRIES = 2


def run(jobs: Sequence[Job], gpus: int = 0) -> Generator[Event, None, None]:
    """The last report of each job, as they come, or its `Failure`.

    Joins the cluster that the environment variable RAY_ADDRESS names, as Ray itself does, and otherwise starts Ray on
    this machine and shuts it down at the end. posenc must be installed on every machine of the cluster.

    Args:
        gpus: Of each job; ValueError where the cluster has none.
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
