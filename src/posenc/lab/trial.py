"""One run: a contestant trained on a corpus by a recipe, and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch

from posenc.lab.data import Corpus, seeds
from posenc.lab.evaluate import loss_by_position
from posenc.lab.models.generate import generate
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress
from posenc.lab.run_config import Contestant, Outcome, Recipe
from posenc.lab.train import train


def trial(contestant: Contestant, corpus: Corpus, recipe: Recipe) -> Iterator[Progress | Outcome]:
    """Progress while training, then the outcome."""
    began = time.process_time()
    streams = seeds(recipe.seed)
    model = Transformer(recipe.shape(corpus.vocabulary), [contestant.encoding], seed=streams.weights)
    curve = []
    for progress in train(model, corpus.train, recipe, pace=contestant.pace):
        curve.append(progress)
        yield progress
    model.eval()
    losses = loss_by_position(model, corpus.held_out, longest=recipe.longest, bins=recipe.bins, windows=recipe.windows)
    prompt = corpus.held_out[: recipe.length // 4].tolist()
    sample = generate(model, prompt, recipe.sample, seed=streams.samples, temperature=recipe.temperature)
    yield Outcome(
        contestant,
        tuple(curve),
        losses,
        sample,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        learned=sum(parameter.numel() for parameter in model.encoding_parameters()),
        seconds=time.process_time() - began,
    )


def reproducible() -> None:
    """One thread and no kernel whose sums depend on timing: equal records then give equal numbers on a machine."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Filling memory that is about to be written is a help in finding bugs, at 6% of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
