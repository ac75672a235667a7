"""Training of a candidate of the tour on a corpus, and its loss by position."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from posenc.lab.data import Corpus, batches, masked, seeds
from posenc.lab.eight_bits import ByteMatrix, EightBitModel, byte_matrix
from posenc.lab.models.example import Example, example
from posenc.lab.models.generate import generate
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress
from posenc.lab.tasks.task import Batch
from posenc.lab.tour_plan import Candidate, TrainingOutcome, TrainingRecipe
from posenc.lab.train import train

#: Windows read at once: few enough for the logits of a long context to stay in a processor's cache.
BATCH = 8


def train_and_measure(
    candidate: Candidate, corpus: Corpus, recipe: TrainingRecipe
) -> Iterator[Progress | TrainingOutcome]:
    """Train a candidate, then measure it.

    Args:
        candidate: The encoding.
        corpus: The text.
        recipe: How it is trained and measured.

    Yields:
        Progress while training, then the outcome.
    """
    began = time.process_time()
    streams = seeds(recipe.seed)
    model = Transformer(recipe.shape(corpus.vocabulary), [candidate.encoding], seed=streams.weights)
    curve = []
    for progress in train_on_text(model, corpus.train, recipe, lr_multiplier=candidate.lr_multiplier):
        curve.append(progress)
        yield progress
    model.eval()
    losses = loss_by_position(model, corpus.held_out, longest=recipe.longest, bins=recipe.bins, windows=recipe.windows)
    prompt = corpus.held_out[: recipe.length // 4].tolist()
    sample = generate(model, prompt, recipe.sample, seed=streams.samples, temperature=recipe.temperature)
    rounded = in_eight_bits(model, corpus.held_out, recipe) if np.isfinite(losses).all() else None
    yield TrainingOutcome(
        candidate,
        tuple(curve),
        losses,
        sample,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        learned=sum(parameter.numel() for parameter in model.encoding_parameters()),
        seconds=time.process_time() - began,
        rounded=rounded,
    )


@torch.no_grad()  # type: ignore[untyped-decorator]
def in_eight_bits(model: Transformer, held_out: np.ndarray, recipe: TrainingRecipe) -> EightBitModel:
    """Round the matrices of a model to eight bits, in place, and measure it again.

    Args:
        model: Trained, in evaluation mode; afterwards it computes with the rounded weights.
        held_out: Held-out token numbers, shape (tokens,).
        recipe: How it was measured.

    Returns:
        The weights, and the loss at the training length and at the longest context.
    """
    learned = {id(parameter) for parameter in model.encoding_parameters()}
    matrices, vectors, params = dict[str, ByteMatrix](), dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, parameter in model.named_parameters():
        values = parameter.detach().cpu().numpy().copy()
        if id(parameter) in learned:
            params[name.rpartition(".")[2]] = values
        elif values.ndim == 2:
            matrices[name] = byte_matrix(values)
            parameter.copy_(torch.from_numpy(matrices[name].values()))
        else:
            vectors[name] = values
    where = ends(len(held_out), recipe.longest, recipe.longest // recipe.bins, recipe.windows)
    contexts = sorted({recipe.length, recipe.longest})
    losses = {n: float(_at_ends(model, held_out, where, n, recipe.longest // recipe.bins).mean()) for n in contexts}
    return EightBitModel(matrices, vectors, params, losses)


def train_on_text(
    model: Transformer, tokens: np.ndarray, recipe: TrainingRecipe, *, lr_multiplier: float = 1.0, every: int = 10
) -> Iterator[Progress]:
    """Train a decoder on the next token of a text, or an encoder on blanked ones.

    The order of the data comes from `recipe.seed` alone.

    Args:
        model: Trained in place.
        tokens: Token numbers, shape (tokens,).
        recipe: How it is trained.
        lr_multiplier: The encoding's own parameters learn at this multiple of the model's rate.
        every: Steps between two reports.

    Returns:
        An iterator that trains, and yields progress.
    """
    return train(
        model,
        _examples(model, tokens, recipe),
        steps=recipe.steps,
        rate=recipe.rate,
        warmup=recipe.warmup,
        encoding_rate=lr_multiplier,
        every=every,
    )


def _examples(model: Transformer, tokens: np.ndarray, recipe: TrainingRecipe) -> Iterator[Example]:
    stream = seeds(recipe.seed).batches
    blanks = np.random.default_rng([stream, 1])
    for inputs, targets in batches(tokens, recipe.length, recipe.batch, recipe.steps, stream):
        if not model.shape.causal:
            inputs, targets = masked(inputs, model.shape.vocabulary, blanks)
        yield example(Batch(inputs, targets))


def ends(tokens: int, longest: int, block: int, windows: int) -> np.ndarray:
    """Ends of the windows: spread evenly, each with a full context before it, no target in two of them.

    Args:
        tokens: How many there are.
        longest: The longest context.
        block: Targets of a window.
        windows: How many at most.

    Returns:
        Indices, shape (windows,), int64.

    Raises:
        ValueError: There are too few tokens for a window.
    """
    count = min(windows, (tokens - 1 - longest) // block + 1)
    if count < 1:
        raise ValueError(
            f"tokens must be at least {longest + 1} to measure with; got {tokens}. Hold out more of the text."
        )
    return np.linspace(longest + 1, tokens, count).astype(np.int64)


@torch.no_grad()  # type: ignore[untyped-decorator]
def loss_by_position(model: Transformer, tokens: np.ndarray, *, longest: int, bins: int, windows: int) -> np.ndarray:
    """Mean loss of each window's last longest/bins tokens, for growing contexts.

    In bin b the context has (b+1)·longest/bins tokens and starts at position 0, so the targets stand at its end: the
    same tokens are predicted from bin to bin, only later in the sequence and with more before them.

    Args:
        model: Trained, in evaluation mode.
        tokens: Held-out token numbers, shape (tokens,).
        longest: The longest context.
        bins: How many contexts.
        windows: How many windows at most.

    Returns:
        Nats a token, shape (windows, bins).
    """
    block = longest // bins
    where = ends(len(tokens), longest, block, windows)
    contexts = range(block, longest + 1, block)
    return np.stack([_at_ends(model, tokens, where, context, block) for context in contexts], 1)


def _at_ends(model: Transformer, tokens: np.ndarray, where: np.ndarray, context: int, block: int) -> np.ndarray:
    """Mean loss of the last `block` tokens of each window of `context` tokens, (windows,), float64."""
    text = torch.from_numpy(tokens[where[:, None] + np.arange(-context - 1, 0)])
    losses = torch.cat([_last(model, part, block) for part in text.split(BATCH)])
    return np.asarray(losses.numpy(), dtype=np.float64)


def _last(model: Transformer, text: torch.Tensor, block: int) -> torch.Tensor:
    logits = model(text[:, :-1], last=block)
    return cross_entropy(logits.transpose(1, 2), text[:, -block:], reduction="none").mean(1)
