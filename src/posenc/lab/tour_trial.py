"""One run of the tour: a contestant trained on a corpus by a recipe, and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from posenc.lab.data import Corpus, batches, masked, seeds
from posenc.lab.evaluate import loss_by_position
from posenc.lab.models.example import Example, example
from posenc.lab.models.generate import generate
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress
from posenc.lab.run_config import Contestant, TrainingOutcome, TrainingRecipe
from posenc.lab.tasks.task import Batch
from posenc.lab.train import train


def trial(contestant: Contestant, corpus: Corpus, recipe: TrainingRecipe) -> Iterator[Progress | TrainingOutcome]:
    """Progress while training, then the outcome."""
    began = time.process_time()
    streams = seeds(recipe.seed)
    model = Transformer(recipe.shape(corpus.vocabulary), [contestant.encoding], seed=streams.weights)
    curve = []
    for progress in train_on_text(model, corpus.train, recipe, pace=contestant.pace):
        curve.append(progress)
        yield progress
    model.eval()
    losses = loss_by_position(model, corpus.held_out, longest=recipe.longest, bins=recipe.bins, windows=recipe.windows)
    prompt = corpus.held_out[: recipe.length // 4].tolist()
    sample = generate(model, prompt, recipe.sample, seed=streams.samples, temperature=recipe.temperature)
    yield TrainingOutcome(
        contestant,
        tuple(curve),
        losses,
        sample,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        learned=sum(parameter.numel() for parameter in model.encoding_parameters()),
        seconds=time.process_time() - began,
    )


def train_on_text(
    model: Transformer, tokens: np.ndarray, recipe: TrainingRecipe, *, pace: float = 1.0, every: int = 10
) -> Iterator[Progress]:
    """A decoder learns the next token, an encoder the blanked ones.

    The order of the data comes from `recipe.seed` alone.

    Args:
        pace: The encoding's own parameters learn at this multiple of the model's rate.
    """
    return train(
        model,
        _examples(model, tokens, recipe),
        steps=recipe.steps,
        rate=recipe.rate,
        warmup=recipe.warmup,
        encoding_rate=pace,
        every=every,
    )


def _examples(model: Transformer, tokens: np.ndarray, recipe: TrainingRecipe) -> Iterator[Example]:
    stream = seeds(recipe.seed).batches
    blanks = np.random.default_rng([stream, 1])
    for inputs, targets in batches(tokens, recipe.length, recipe.batch, recipe.steps, stream):
        if not model.shape.causal:
            inputs, targets = masked(inputs, model.shape.vocabulary, blanks)
        yield example(Batch(inputs, targets))
