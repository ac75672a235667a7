"""Loss by position, always of the same target tokens."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from posenc.lab.models.transformer import Transformer

#: Windows read at once: few enough for the logits of a long context to stay in a processor's cache.
BATCH = 8


def ends(tokens: int, longest: int, block: int, windows: int) -> np.ndarray:
    """Where the windows end: spread evenly, each with a full context before it, no target in two of them."""
    count = min(windows, (tokens - 1 - longest) // block + 1)
    if count < 1:
        raise ValueError(
            f"tokens must be at least {longest + 1} to measure with; got {tokens}. Hold out more of the text."
        )
    return np.linspace(longest + 1, tokens, count).astype(np.int64)


@torch.no_grad()  # type: ignore[untyped-decorator]
def loss_by_position(model: Transformer, tokens: np.ndarray, *, longest: int, bins: int, windows: int) -> np.ndarray:
    """Mean loss (nats a token) of each window's last longest/bins tokens, for growing contexts.

    Shape (windows, bins).

    In bin b the context has (b+1)·longest/bins tokens and starts at position 0, so the targets stand at its end: the
    same tokens are predicted from bin to bin, only later in the sequence and with more before them.
    """
    block = longest // bins
    where = ends(len(tokens), longest, block, windows)
    columns = []
    for context in range(block, longest + 1, block):
        indices = where[:, None] + np.arange(-context - 1, 0)
        text = torch.from_numpy(tokens[indices])
        columns.append(torch.cat([_last(model, part, block) for part in text.split(BATCH)]).numpy())
    return np.stack(columns, 1).astype(np.float64)


def _last(model: Transformer, text: torch.Tensor, block: int) -> torch.Tensor:
    logits = model(text[:, :-1], last=block)
    return cross_entropy(logits.transpose(1, 2), text[:, -block:], reduction="none").mean(1)
