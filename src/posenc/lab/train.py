"""Training: a loop for every model, task and encoding, on one process or several, and its checkpoints."""

from __future__ import annotations

import dataclasses
import io
import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from posenc.core import plain_file
from posenc.lab.experiment import Experiment
from posenc.lab.machine import described
from posenc.lab.models.example import Example
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress, package_versions

#: The loss of an example, whose gradients are those of the mean over the whole batch.
Loss = Callable[[Example], torch.Tensor]
Made = TypeVar("Made")


class Replicas(Protocol):
    """Processes that train one model.

    Attributes:
        rank: The number of this one. Number 0 measures and reports.
        versions: Of the packages and settings that the training depends on.
    """

    rank: int
    versions: tuple[tuple[str, str], ...]

    def loss(self, model: Transformer, label_smoothing: float) -> Loss:
        """Function that computes the training loss of this process's part of an example."""

    def mean(self, loss: torch.Tensor) -> float:
        """The loss of the whole batch, from those of all parts."""

    def agreed(self, make: Callable[[], Made]) -> Made:
        """The result of `make` in each process; a ValueError in all of them where one raises it."""


class Keeper(Protocol):
    """Keeps a training under way, so that it can go on after a stop."""

    def resume(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Restore the kept state of a training, and return the number of steps done."""

    def reached(self, progress: Progress, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Record a report; the state of the training may be saved."""


class OneProcess:
    """Replicas for a training in this process alone."""

    rank = 0
    versions: tuple[tuple[str, str], ...] = ()

    def loss(self, model: Transformer, label_smoothing: float) -> Loss:
        return lambda example: example.loss(model, label_smoothing=label_smoothing)

    def mean(self, loss: torch.Tensor) -> float:
        return float(loss.detach())

    def agreed(self, make: Callable[[], Made]) -> Made:
        return make()


class DivergedError(RuntimeError):
    """Training loss became NaN or infinite."""


def train(
    model: Transformer,
    examples: Iterable[Example],
    *,
    steps: int,
    rate: float,
    warmup: int,
    encoding_rate: float = 1.0,
    label_smoothing: float = 0.0,
    every: int = 10,
    replicas: Replicas | None = None,
    keeper: Keeper | None = None,
) -> Iterator[Progress]:
    """Train the model in place on an example a step.

    Args:
        model: Trained in place.
        examples: One for each step; no further one is drawn. Those of steps that are done already are drawn, too.
        steps: Of the schedule.
        rate: The peak learning rate of AdamW.
        warmup: Steps up to the peak rate; a cosine to a tenth of it follows.
        encoding_rate: The encoding's own parameters learn at this multiple of the rate, without weight decay.
        label_smoothing: Of the targets.
        every: Steps between two reports.
        replicas: The processes that share each example; this one alone where None.
        keeper: Goes on from a training that was stopped, and keeps this one.

    Yields:
        The step and the mean loss since the last report, after every `every` steps and at the end.

    Raises:
        DivergedError: The loss becomes infinite or NaN.
    """
    replicas = replicas or OneProcess()
    optimizer, loss_of = _optimizer(model, rate, encoding_rate), replicas.loss(model, label_smoothing)
    total, since = 0.0, 0
    done = 0 if keeper is None else keeper.resume(model, optimizer)
    for step, one in zip(range(done + 1, steps + 1), islice(examples, done, None), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * schedule(step, steps, warmup)
        loss = loss_of(one)
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:  # apart, so that an encoding's gradient never shrinks the model's
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
        optimizer.step()
        value = replicas.mean(loss)
        if not math.isfinite(value):
            raise DivergedError(f"the training loss is {value} at step {step} of {steps}. Lower the rate, {rate:g}.")
        total, since = total + value, since + 1
        if since == every or step == steps:
            progress = Progress(step, total / since)
            total, since = 0.0, 0
            if keeper is not None:
                keeper.reached(progress, model, optimizer)
            yield progress


def schedule(step: int, steps: int, warmup: int) -> float:
    """Share of the peak rate at a step: linear warm-up, then cosine decay to a tenth.

    Args:
        step: From 1.
        steps: How many there are.
        warmup: Steps of the line; at most half of all.

    Returns:
        From 0 to 1.

    Example:
        >>> schedule(25, 1000, 50), schedule(50, 1000, 50), round(schedule(1000, 1000, 50), 3)
        (0.5, 1.0, 0.1)
    """
    warmup = min(warmup, steps // 2)
    if step <= warmup:
        return step / warmup
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def _optimizer(model: Transformer, rate: float, encoding_rate: float) -> torch.optim.Optimizer:
    encoding_parameters = model.encoding_parameters()
    own = set(map(id, encoding_parameters))
    shared = [parameter for parameter in model.parameters() if id(parameter) not in own and parameter.requires_grad]
    groups = [
        {"params": shared, "peak": rate, "weight_decay": 0.01},
        {"params": encoding_parameters, "peak": rate * encoding_rate, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=rate, betas=(0.9, 0.98))


#: Seconds between two savings: what a stop costs at most.
SECONDS = 30.0
LARGEST = 1 << 40


class RunCheckpoint:
    """File that keeps weights, optimizer, generator and training loss of one run.

    Numbers of another device, or of another version of posenc, PyTorch or NumPy, are not continued: the run begins
    anew.

    Args:
        path: Of the file; its folder is made.
        experiment: The run.
        device: Of PyTorch.
        seconds: Between two savings.

    Attributes:
        curve: The training loss up to the step from which the run goes on.
        spent: Processor time up to there, in seconds.
    """

    def __init__(self, path: Path, experiment: Experiment, device: str = "cpu", *, seconds: float = SECONDS) -> None:
        self.path, self.curve, self.spent = path, list[Progress](), 0.0
        versions = {**dict(package_versions()), "device": described(device)}
        self._run, self._seconds = {"identity": experiment.identity, "versions": versions}, seconds
        self._began, self._saved = time.process_time(), time.monotonic()

    def resume(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Restore model, optimizer, random generators and training curve from the file.

        Args:
            model: Gets its weights.
            optimizer: Gets its state.

        Returns:
            Steps that are done; 0 where there is nothing to go on from.

        Raises:
            ValueError: The file is damaged; the message names it.
        """
        if not self.path.exists():
            return 0
        try:
            data = plain_file.read_bytes(self.path, LARGEST, advice="Delete it; its run then begins anew.")
            kept: dict[str, Any] = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
            if kept["run"] != self._run:
                return 0
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            torch.set_rng_state(kept["generator"])
            if kept["generators_of_gpus"]:
                torch.cuda.set_rng_state_all(kept["generators_of_gpus"])
            self.curve, self.spent = [Progress(*point) for point in kept["curve"]], float(kept["spent"])
        except Exception as error:  # whatever PyTorch raises for bytes that are no checkpoint
            raise ValueError(
                f"{self.path} must be the checkpoint of a run; it is damaged: {' '.join(str(error).split())[:120]}. "
                "Delete it; its run then begins anew."
            ) from None
        return self.curve[-1].step

    def reached(self, progress: Progress, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Add a report to the curve, and save if enough time has passed."""
        self.curve.append(progress)
        if time.monotonic() - self._saved < self._seconds:
            return
        kept = {
            "run": self._run,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "generator": torch.get_rng_state(),
            "generators_of_gpus": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
            "curve": [dataclasses.astuple(point) for point in self.curve],
            "spent": self.spent + time.process_time() - self._began,
        }
        file = io.BytesIO()
        torch.save(kept, file)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        plain_file.write_whole(self.path, file.getvalue())
        self._saved = time.monotonic()
