"""Text from a model, a token at a time, each token placed behind the cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from posenc.core import validation
from posenc.lab.models.example import Example
from posenc.lab.models.transformer import DecoderCache, Transformer


@torch.no_grad()  # type: ignore[untyped-decorator]
def generate(
    model: Transformer, prompt: Sequence[int], count: int, *, seed: int, temperature: float = 0.8
) -> tuple[int, ...]:
    """Draw tokens that follow a prompt from softmax(logits / temperature).

    The draw of token i is the same number for every model of a seed: samples differ because the models do.

    Args:
        model: A decoder.
        prompt: Token numbers, at least one.
        count: How many tokens to draw.
        seed: Of the draws.
        temperature: Above 0.

    Returns:
        The drawn tokens.

    Raises:
        ValueError: The prompt is empty, or a number is out of range.
    """
    if len(prompt) == 0:
        raise ValueError("prompt must hold at least one token; got none. Give the number of a token.")
    temperature = validation.real("temperature", temperature, 0.0, 100.0, above=True)
    draws = np.random.default_rng(seed).random(validation.integer("count", count, 0, 10**6))
    cache, new, generated = DecoderCache(), list(prompt), list[int]()
    for draw in draws:
        logits = model(torch.tensor([new], device=model.embedding.device), cache=cache, last=1)[0, -1].cpu().double()
        cumulative = torch.softmax(logits / temperature, -1).cumsum(-1).numpy()
        new = [min(int(np.searchsorted(cumulative, draw * cumulative[-1], side="right")), len(cumulative) - 1)]
        generated += new
    return tuple(generated)


@torch.no_grad()  # type: ignore[untyped-decorator]
def greedy(model: Transformer, example: Example, most: int, *, end: int) -> list[list[int]]:
    """Write the likeliest tokens for each row of an example with a source.

    Args:
        model: An encoder-decoder.
        example: Its first token of each row is read.
        most: Tokens to write at most.
        end: The token that ends a row.

    Returns:
        For each row, the tokens behind the first, without the end.
    """
    memory, cache = example.memory(model), DecoderCache()
    new, rows = example.tokens[:, :1], []
    done = torch.zeros(len(new), dtype=torch.bool, device=new.device)
    for _ in range(most):
        logits = model(new, cache=cache, memory=memory, visible=example.visible, last=1)
        new = logits[:, -1].argmax(-1, keepdim=True)
        rows.append(new[:, 0])
        done |= new[:, 0] == end
        if bool(done.all()):
            break
    written: list[list[int]] = torch.stack(rows, 1).tolist()
    return [row[: row.index(end)] if end in row else row for row in written]
