"""Jobs run one at a time on all processes that torchrun or `accelerate launch` started: a big model on many devices.

Each process has the whole model and a part of every batch (data parallel). Accelerate sums their gradients. Process 0
leads: it has the jobs, measures and reports. The others follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch

from posenc.lab.engines.events import Event, Finished, Job, failure, needed
from posenc.lab.train import DivergedError, Loss, Made

if TYPE_CHECKING:
    from posenc.lab.experiment import Experiment
    from posenc.lab.models.example import Example
    from posenc.lab.models.transformer import Transformer
    from posenc.lab.result import Progress, Result

#: How long processes wait for process 0, which measures alone.
PATIENCE = timedelta(hours=12)


class RefusedError(ValueError):
    """Error for a job that no process starts, because at least one of them cannot run it."""


def leads() -> bool:
    """Whether this process is number 0, as torchrun says."""
    return os.environ.get("RANK", "0") == "0"


def run(jobs: Sequence[Job], device: str = "") -> Generator[Event, None, None]:
    """Run jobs from process 0: yield the reports of each, or its `Failure` where it was refused or diverged.

    Any other error ends this process, and with it, through torchrun, the others: they may be in different steps.

    Args:
        jobs: Done one after the other.
        device: "cpu", or "" for what Accelerate finds.

    Yields:
        The reports.
    """
    processes = Processes(device)
    for index, job in enumerate(jobs):
        processes.send(job)
        try:
            yield from (Event(index, report) for report in job.reports())
        except (RefusedError, DivergedError) as error:
            yield Event(index, failure(ValueError(*error.args) if isinstance(error, RefusedError) else error))
    processes.send(Finished())


def follow(device: str = "") -> None:
    """Take part in each job of process 0, in every other process, until it has no more."""
    processes = Processes(device)
    while isinstance(job := processes.send(None), Job):
        try:
            for _ in job.reports():
                pass
        except (RefusedError, DivergedError):
            continue  # process 0 has the same error, and reports it


def train_together(experiment: Experiment, device: str = "") -> Iterator[Progress | Result]:
    """Run `posenc.lab.trial.run` on all processes. Process 0 alone yields the result."""
    from posenc.lab import trial

    processes = Processes(device)
    if experiment.batch < processes.count:
        raise RefusedError(
            f"batch must have a sequence for each of the {processes.count} processes; got {experiment.batch}. Start "
            "fewer processes, or use a larger batch."
        )
    yield from trial.run(experiment, device=processes.device, replicas=processes)


class Processes:
    """Processes of Accelerate as the `Replicas` of a model.

    Args:
        device: "cpu", or "" for what Accelerate finds.

    Raises:
        ValueError: Accelerate is missing, or set up to split the model.
    """

    def __init__(self, device: str = "") -> None:
        accelerate = needed("accelerate", "accelerate")
        patience = accelerate.InitProcessGroupKwargs(timeout=PATIENCE)
        self._accelerator = accelerate.Accelerator(cpu=device == "cpu", kwargs_handlers=[patience])
        self._utilities = accelerate.utils
        kind, precision = self._accelerator.distributed_type.value, self._accelerator.mixed_precision
        if kind not in ("NO", "MULTI_CPU", "MULTI_GPU") or precision not in ("no", "bf16"):
            raise ValueError(
                "accelerate must copy the model to each process, in float32 or bf16; it is set to "
                f"{kind} with {precision}. Run `accelerate config`, or use torchrun."
            )
        self.rank, self.count = int(self._accelerator.process_index), int(self._accelerator.num_processes)
        chosen = self._accelerator.device
        self.device = "cpu" if chosen.type == "cpu" else str(chosen)
        self.versions = (
            ("accelerate", accelerate.__version__),
            ("processes", str(self.count)),
            *([("precision", precision)] if precision != "no" else []),
        )

    def send(self, what: Any) -> Any:
        """Send an object from process 0 to every process."""
        return self._utilities.broadcast_object_list([what])[0]

    def loss(self, model: Transformer, label_smoothing: float) -> Loss:
        """Function that computes the training loss of this process's part of an example."""
        share = ShareOfLoss(model, label_smoothing, self.rank, self.count)
        prepared: Loss = self._accelerator.prepare(share)
        return prepared

    def mean(self, loss: torch.Tensor) -> float:
        """The loss of the whole batch, from those of all parts."""
        return float(self._accelerator.reduce(loss.detach(), reduction="mean"))

    def agreed(self, make: Callable[[], Made]) -> Made:
        """The result of `make` in each process; a RefusedError in all of them where one raises a ValueError."""
        made, error = None, ""
        try:
            made = make()
        except ValueError as reason:
            error = str(reason)
        errors = self._utilities.gather_object([error])
        if made is None or any(errors):
            process, first = next((index, each) for index, each in enumerate(errors) if each)
            raise RefusedError(first if process == 0 else f"{first} (process {process})")
        return made


class ShareOfLoss(torch.nn.Module):  # type: ignore[misc]
    """Loss of one process's rows, such that the mean over processes is that of the whole batch."""

    def __init__(self, model: Transformer, label_smoothing: float, rank: int, count: int) -> None:
        super().__init__()
        self.model, self.label_smoothing, self.rank, self.count = model, label_smoothing, rank, count

    def forward(self, example: Example) -> torch.Tensor:
        """The loss of this process's rows."""
        part = example.part(self.rank, self.count)
        total = part.loss(self.model, label_smoothing=self.label_smoothing, reduction="sum")
        return total * (self.count / max(1, example.predicted))
