"""Projected vectors of a layer for every encoding, and the whole sequence at once by the readable reference."""

from __future__ import annotations

import torch

from posenc import PoPE
from posenc import attention as reference
from posenc.caches import key_cache
from posenc.catalog import CATALOG
from posenc.core.doors import AdditiveEncoding, AttentionScore, RotaryEncoding
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import module

RECORDS = [sample for row in CATALOG for sample in row.samples if not isinstance(sample, AdditiveEncoding)]
ADDITIVE = [sample for row in CATALOG for sample in row.samples if isinstance(sample, AdditiveEncoding)]
HEADS, KEY_HEADS, WIDTH = 12, 4, 8


class Layer:
    """Queries, keys and values of a sequence, the layer's input where it is read, positions and a module."""

    def __init__(self, encoding, tokens=11, batch=1, dtype=torch.float64, heads=None):
        draw = torch.Generator().manual_seed(tokens)
        self.encoding, heads = encoding, getattr(encoding, "heads", None) or heads or HEADS
        rotates = isinstance(encoding, RotaryEncoding)
        width = encoding.head_dim if rotates else getattr(encoding, "dim", WIDTH)
        key_heads = KEY_HEADS if heads == HEADS else 1
        self.q, self.k, self.v = (
            torch.randn(batch, number, tokens, width, generator=draw, dtype=torch.float64).to(dtype)
            for number in (heads, key_heads, key_heads)
        )
        self.hidden, self.reads = None, getattr(encoding, "reads", None)
        if self.reads is not None:
            shape = (batch, tokens, encoding.model_dim)
            self.hidden = torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype)
        self.positions = spread_over_axes(encoding, torch.arange(tokens))
        self.module = module(encoding, seed=3)
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter.mul_(1.5).add_(0.25)
        self.rotated = not isinstance(encoding, AttentionScore | PoPE)

    def prefill(self, dtype=None):
        """The output of all tokens at once, by the reference."""
        hidden = self.hidden
        if hidden is not None and self.reads == "both":
            hidden = torch.cat([hidden, hidden], 1)
        x = [each if dtype is None else each.to(dtype) for each in (self.q, self.k, self.v)]
        return reference.attention(
            *x,
            query_positions=self.positions,
            key_positions=self.positions,
            layout="bhtd",
            encodings=[self.encoding],
            params=[self.module.params],
            causal=True,
            hidden=hidden if hidden is None or dtype is None else hidden.to(dtype),
        ).output

    def cached(self, some, rotated=None):
        """A cache of some of the tokens."""
        return key_cache(
            self.k[:, :, some],
            self.v[:, :, some],
            key_positions=self.positions[some],
            encodings=[self.module],
            layout="bhtd",
            rotated=self.rotated if rotated is None else rotated,
            hidden=None if self.hidden is None else self.hidden[:, some],
        )

    def attend(self, cache, some):
        """The output of some of the tokens, the last of which is the last of the cache."""
        return cache.attend(
            self.q[:, :, some],
            query_positions=self.positions[some],
            encodings=[self.module],
            layout="bhtd",
            hidden=None if self.hidden is None else self.hidden[:, some],
        )


def steps(tokens, prompt):
    """A prompt, and then a token at a time."""
    return [slice(0, prompt), *(slice(at, at + 1) for at in range(prompt, tokens))]
