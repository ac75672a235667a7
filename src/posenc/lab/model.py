"""A small transformer that takes any encoding, at whichever door it comes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from posenc.doors import Adds, Encoding
from posenc.lab.placed import Placed, at_positions
from posenc.lab.run_config import Shape
from posenc.torch import module


@dataclass
class Cache:
    """Keys (turned) and values of the tokens read so far, a pair a layer, with the positions of the keys."""

    positions: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))
    layers: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def extended(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer with new ones behind."""
        if layer in self.layers:
            k, v = (torch.cat(pair, 2) for pair in zip(self.layers[layer], (k, v), strict=True))
        self.layers[layer] = k, v
        return k, v


class Transformer(nn.Module):  # type: ignore[misc]
    """Pre-norm blocks with GELU (as GPT-2), embeddings scaled by √width and shared with the output (as in 2017, §3.4).

    Decoder or encoder by `shape.causal`. One encoding serves all layers, and its parameters are shared by them. Every
    other weight is drawn from `seed` in a fixed order, so that models that differ in encoding begin alike.
    """

    def __init__(self, shape: Shape, encoding: Encoding, *, seed: int = 0) -> None:
        super().__init__()
        self.shape, self.record = shape, encoding
        rng = torch.Generator().manual_seed(seed)
        # One more piece than the vocabulary: the blank of the encoder's task.
        self.embedding = _drawn((shape.vocabulary + 1, shape.width), shape.width**-0.5, rng)
        self.blocks = nn.ModuleList(Block(shape, layer, rng) for layer in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.encoding = module(encoding, seed=seed)

    def forward(
        self, tokens: Tensor, positions: Tensor | None = None, cache: Cache | None = None, *, last: int | None = None
    ) -> Tensor:
        """Logits (batch, n, vocabulary) for tokens (batch, n) at positions (n,); 0, 1, … behind the cache by default.

        last: of so many places at the end alone.
        """
        start = 0 if cache is None else len(cache.positions)
        query = torch.arange(start, start + tokens.shape[1]) if positions is None else positions
        key = query if cache is None else torch.cat([cache.positions, query])
        x = self.embedding[tokens] * math.sqrt(self.shape.width)
        if isinstance(self.record, Adds):
            x = self.encoding(x, query)
        placed = at_positions(self.record, self.learned(), query, key, causal=self.shape.causal)
        for block in self.blocks:
            x = block(x, placed, cache)
        if cache is not None:
            cache.positions = key
        x = x if last is None else x[:, -last:]
        return self.norm(x) @ self.embedding[: self.shape.vocabulary].T

    def learned(self) -> dict[str, Tensor]:
        """What the encoding learns, by the names its record uses."""
        return dict(self.encoding.params or {})


class Block(nn.Module):  # type: ignore[misc]
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, shape: Shape, layer: int, rng: torch.Generator) -> None:
        super().__init__()
        self.layer, self.heads = layer, shape.heads
        wide, narrow = shape.width**-0.5, (4 * shape.width) ** -0.5
        # What is added to the residual stream starts smaller, by the number of additions (GPT-2).
        calm = (2 * shape.layers) ** -0.5
        self.norms = nn.ModuleList(nn.LayerNorm(shape.width) for _ in range(2))
        self.project = _drawn((shape.width, 3 * shape.width), wide, rng)
        self.mix = _drawn((shape.width, shape.width), wide * calm, rng)
        self.up = _drawn((shape.width, 4 * shape.width), wide, rng)
        self.down = _drawn((4 * shape.width, shape.width), narrow * calm, rng)

    def forward(self, x: Tensor, placed: Placed, cache: Cache | None) -> Tensor:
        batch, length, width = x.shape
        by_heads = (self.norms[0](x) @ self.project).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = by_heads.permute(2, 0, 3, 1, 4)
        q, k = placed.rotated(q, k)
        if cache is not None:
            k, v = cache.extended(self.layer, k, v)
        attended = placed.attended(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + attended @ self.mix
        return x + nn.functional.gelu(self.norms[1](x) @ self.up) @ self.down


def _drawn(shape: tuple[int, ...], deviation: float, rng: torch.Generator) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape, generator=rng) * deviation)
