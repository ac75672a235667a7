"""A trial that learns nothing and takes no time, so that running and storing can be tested alone."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

from posenc.lab.engines import local
from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.running import run_missing
from posenc.lab.store import Store

FUNCTION = "lab.pretend_trial:pretend"
EXPERIMENTS = [Experiment("RoPE(dim=16)", "copy", seed=seed) for seed in range(60)]


def result_of(experiment: Experiment) -> Result:
    scores = tuple(LengthScore(length, 0.9, 0.5, 0.25) for length in experiment.test_lengths)
    return Result(experiment, (Progress(1, 2.0), Progress(2, 1.0)), scores)


def pretend(experiment: Experiment, device: str = "cpu", checkpoint: str = "") -> Iterator[Progress | Result]:
    yield Progress(1, 2.0)
    time.sleep(0.01)
    if experiment.task == "broken":
        raise ValueError("nothing can be learned")
    yield result_of(experiment)


def fails_with_seed_1(experiment: Experiment, device: str, checkpoint: str) -> Iterator[Result]:
    if experiment.seed == 1:
        raise ValueError("nothing can be learned")
    yield result_of(experiment)


def visible_gpus() -> Iterator[str]:
    yield os.environ.get("CUDA_VISIBLE_DEVICES", "all")


def main(folder: str) -> None:
    """Run everything; print the identity of each run whose result is on disk."""
    with Store(folder) as store:
        for step in run_missing(EXPERIMENTS, store, local.run, FUNCTION):
            if isinstance(step.report, Result):
                print(step.experiment.identity, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
