"""Queries and keys with their positions, and what they are when rotated; 32 and 8 heads of 128 by default."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch

import posenc
from posenc.core.rotation import Layout, Rotation

Pair = tuple[torch.Tensor, torch.Tensor]
Pairs = Literal["halves", "adjacent"]
QUERIES, KEYS, DIM = 32, 8, 128


@dataclass(frozen=True)
class Shape:
    """Rows of the batch, tokens, heads of queries and of keys, and their size."""

    batch: int = 1
    time: int = 4096
    queries: int = QUERIES
    keys: int = KEYS
    dim: int = DIM

    def __str__(self) -> str:
        return f"{self.batch}×{self.time}×({self.queries}+{self.keys})×{self.dim}"


@dataclass(frozen=True, eq=False)
class Problem:
    """q, k: as they lie in memory, by `layout`; places: (time,), or (batch, time) where each row has its own."""

    q: torch.Tensor
    k: torch.Tensor
    places: torch.Tensor
    layout: Layout
    pairing: Pairs

    @cached_property
    def encoding(self) -> posenc.RoPE:
        return posenc.RoPE(dim=self.q.shape[-1], pairing=self.pairing)

    @cached_property
    def rotation(self) -> Rotation:
        return self.encoding.rotation(self.places)

    @cached_property
    def expected(self) -> Pair:
        """By the reference in float32, with no rounding at the end; from exact angles."""
        first, second = (self.rotation(x.float(), layout=self.layout) for x in self.pair)
        return first, second

    @property
    def pair(self) -> Pair:
        return self.q, self.k

    def copies(self) -> Pair:
        return self.q.clone(), self.k.clone()

    @property
    def heads_axis(self) -> int:
        return self.layout.index("h")

    @cached_property
    def bound(self) -> float:
        """What peers may be away from the reference, from the dtype and the farthest position.

        An angle in float32, of a rounded frequency and a rounded product, is away by up to a few roundings of its own
        size; cosine and sine follow it, and meet a number of the size of the largest. Besides, several roundings of
        the result.
        """
        angle = 4.0 * (float(self.places.max()) + 1.0) * 2.0**-24
        largest = max(x.abs().max().item() for x in self.pair)
        return float(largest * (angle + 8.0 * torch.finfo(self.q.dtype).eps))


def problem(
    layout: Layout, dtype: torch.dtype, pairing: Pairs = "halves", *, shape: Shape | None = None, each: bool = False
) -> Problem:
    """Random heads at positions 0, 1, …; `each`: one token a row of the batch, each somewhere else, as in decoding."""
    shape, drawn = shape or Shape(), torch.Generator().manual_seed(0)

    def heads(count: int) -> torch.Tensor:
        axes = (count, shape.time) if layout == "bhtd" else (shape.time, count)
        return torch.randn((shape.batch, *axes, shape.dim), generator=drawn).to(dtype)

    places = 1000 + 37 * torch.arange(shape.batch)[:, None] if each else torch.arange(shape.time)
    return Problem(heads(shape.queries), heads(shape.keys), places, layout, pairing)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
