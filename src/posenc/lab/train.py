"""Training: a loop for every model, task and encoding, on one process or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol, TypeVar

import torch

from posenc.lab.models.example import Example
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress

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
        """The training loss of this process's part of each example."""

    def mean(self, loss: torch.Tensor) -> float:
        """The loss of the whole batch, from those of all parts."""

    def agreed(self, make: Callable[[], Made]) -> Made:
        """The result of `make` in each process; a ValueError in all of them where one raises it."""


class Keeper(Protocol):
    """Keeps a training under way, so that it can go on after a stop."""

    def resume(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Put back what is kept; the steps that are done."""

    def reached(self, progress: Progress, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Keep what there is now."""


class OneProcess:
    """This process alone."""

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
    """Share of the peak rate at a step: up in a line, then down by a cosine to a tenth.

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
