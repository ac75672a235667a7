"""Modules of any encoding, and inputs of any length for each door."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import module

BATCH, HEADS, KEY_HEADS = 3, 12, 4
#: Rows of the shortest table among the samples.
SHORTEST = 7
Tensors = tuple[torch.Tensor, ...]


class Whole(torch.nn.Module):
    """All that a module computes, as a tuple: for an encoding that scores, the scores and what goes to the output."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held

    def forward(self, *arguments: torch.Tensor) -> Tensors:
        if isinstance(self.held.encoding, RotaryEncoding) and "value" in self.held.encoding.roles:
            q, k, query_positions, key_positions = arguments
            return self.held(k, key_positions, layout="bhtd"), self.held.back(q, query_positions, layout="bhtd")
        if isinstance(self.held.encoding, RotaryEncoding):
            return self.held(*arguments, layout="bhtd")
        if not isinstance(self.held.encoding, AttentionScore):
            return (self.held(*arguments),)
        q, k, *hidden, query_positions, key_positions = arguments
        result = self.held(q, k, query_positions, key_positions, hidden=hidden[0] if hidden else None)
        values = self.held.values(result.softmax(-1), query_positions, key_positions)
        return (result,) if values is None else (result, values)


def fresh(encoding: Encoding) -> Whole:
    """A module whose parameters are no longer those of its seed, as after training."""
    whole = Whole(module(encoding, seed=3))
    shift = -0.25 if type(encoding).__name__ == "PoPE" else 0.25  # its phases end at 0
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.mul_(1.5).add_(shift)
    return whole


def inputs(encoding: Encoding, n: int) -> Tensors:
    """Arguments for n tokens, always the same for one n: n queries, n + 2 keys, each with its own positions."""
    draw = torch.Generator().manual_seed(n)
    start = 70_000 if "unlimited" in encoding.claims else 0  # far out, unless positions end somewhere
    query_positions, key_positions = (spread_over_axes(encoding, torch.arange(count) + start) for count in (n, n + 2))
    if isinstance(encoding, AdditiveEncoding):
        positions = query_positions if start else spread_over_axes(encoding, torch.arange(n) % SHORTEST)
        return torch.randn(BATCH, n, encoding.width, generator=draw, dtype=torch.float32), positions
    if isinstance(encoding, AttentionBias):
        return query_positions, key_positions
    rotates = isinstance(encoding, RotaryEncoding)
    width = encoding.head_dim if rotates else getattr(encoding, "dim", 8)
    own = getattr(
        encoding, "heads", None
    )  # of a rotation: those that each rotation in their own way, which are not grouped
    heads = own or HEADS
    key_heads = KEY_HEADS if rotates and own is None else heads
    q = torch.randn(BATCH, heads, n, width, generator=draw, dtype=torch.float32)
    k = torch.randn(BATCH, key_heads, n + 2, width, generator=draw, dtype=torch.float32)
    if rotates or encoding.reads is None:
        return q, k, query_positions, key_positions
    places = encoding.hidden_length(n, n + 2)
    return (
        q,
        k,
        torch.randn(BATCH, places, encoding.model_dim, generator=draw, dtype=torch.float32),
        query_positions,
        key_positions,
    )


def call(whole: Whole, n: int = 5) -> Tensors:
    """What the module gives for n tokens."""
    return whole(*inputs(whole.held.encoding, n))


def same(left: Tensors, right: Tensors) -> bool:
    """Bit for bit, and finite: an encoding that gives NaN twice is not the same."""
    pairs = list(zip(left, right, strict=True))
    return all(a.dtype == b.dtype and torch.equal(a, b) and bool(a.isfinite().all()) for a, b in pairs)
