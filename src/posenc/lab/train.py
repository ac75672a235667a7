"""Training: one loop for every encoding, told step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from posenc.lab.data import batches, masked, seeds
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress
from posenc.lab.run_config import Recipe


def train(
    model: Transformer, tokens: np.ndarray, recipe: Recipe, *, pace: float = 1.0, every: int = 10
) -> Iterator[Progress]:
    """Train the model in place; after every `every` steps, and at the end, yield how far it is.

    A decoder learns the next token, an encoder the blanked ones. The order of the data comes from `recipe.seed` alone.
    pace: the encoding's own parameters learn at this multiple of the model's rate, without weight decay.
    """
    optimizer = _optimizer(model, recipe, pace)
    total, since = 0.0, 0
    for step, (inputs, targets) in enumerate(_tasks(model, tokens, recipe), 1):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * group["pace"] * schedule(step, recipe.steps, recipe.warmup)
        loss = _loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:  # apart, so that an encoding's gradient never shrinks the model's
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
        optimizer.step()
        total, since = total + loss.item(), since + 1
        if since == every or step == recipe.steps:
            yield Progress(step, total / since)
            total, since = 0.0, 0


def schedule(step: int, steps: int, warmup: int) -> float:
    """The share of the peak rate at a step (from 1): up in a line, then down by a cosine to a tenth.

    >>> schedule(25, 1000, 50), schedule(50, 1000, 50), round(schedule(1000, 1000, 50), 3)
    (0.5, 1.0, 0.1)
    """
    warmup = min(warmup, steps // 2)
    if step <= warmup:
        return step / warmup
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def _optimizer(model: Transformer, recipe: Recipe, pace: float) -> torch.optim.Optimizer:
    encoding_parameters = model.encoding_parameters()
    own = set(map(id, encoding_parameters))
    shared = [parameter for parameter in model.parameters() if id(parameter) not in own]
    groups = [
        {"params": shared, "pace": 1.0, "weight_decay": 0.01},
        {"params": encoding_parameters, "pace": pace, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=recipe.rate, betas=(0.9, 0.98))


def _tasks(model: Transformer, tokens: np.ndarray, recipe: Recipe) -> Iterator[tuple[Tensor, Tensor]]:
    stream = seeds(recipe.seed).batches
    blanks = np.random.default_rng([stream, 1])
    for inputs, targets in batches(tokens, recipe.length, recipe.batch, recipe.steps, stream):
        if not model.shape.causal:
            inputs, targets = masked(inputs, model.shape.vocabulary, blanks)
        yield torch.from_numpy(inputs), torch.from_numpy(targets)


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
