"""Training: one loop for every model, task and encoding, told step by step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import torch

from posenc.lab.models.example import Example
from posenc.lab.models.transformer import Transformer
from posenc.lab.replicas import OneProcess, Replicas
from posenc.lab.result import Progress


class DivergedError(RuntimeError):
    """The loss of a training is no number any more."""


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
) -> Iterator[Progress]:
    """Train the model in place on one example a step.

    After every `every` steps, and at the end, yield how far it is.

    Args:
        encoding_rate: The encoding's own parameters learn at this multiple of the rate, without weight decay. replicas:
            the processes that share each example; this one alone where left out.

    Raises:
        DivergedError: The loss becomes infinite or NaN.
    """
    replicas = replicas or OneProcess()
    optimizer, loss_of = _optimizer(model, rate, encoding_rate), replicas.loss(model, label_smoothing)
    total, since = 0.0, 0
    for step, one in enumerate(examples, 1):
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
            yield Progress(step, total / since)
            total, since = 0.0, 0


def schedule(step: int, steps: int, warmup: int) -> float:
    """The share of the peak rate at a step (from 1): up in a line, then down by a cosine to a tenth.

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
