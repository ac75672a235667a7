"""Rows of a learned table added by a module, against PyTorch's embedding: one token and many, short tables and long."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import compared, timed
from measuring.problem import name_of

import posenc
from posenc.torch import module

MODULE, EMBEDDED = "posenc, module", "x + Embedding(positions)"
#: Rows and channels of the table, and how many positions are looked up.
BATCH, SIZES = 8, ((1024, 512, 1), (50_000, 256, 1), (1024, 512, 512))


def run() -> list[dict[str, Any]]:
    with torch.no_grad():
        return [case(dtype, *sizes) for dtype in (torch.float32, torch.bfloat16) for sizes in SIZES]


def case(dtype: torch.dtype, length: int, dim: int, count: int) -> dict[str, Any]:
    """A table as narrow as x."""
    layer, places = module(posenc.Learned(dim=dim, length=length), seed=0).to(dtype), torch.arange(count) + 3
    embedding = torch.nn.Embedding(length, dim).to(dtype)
    embedding.weight.copy_(layer.table)
    x = torch.randn(BATCH if count > 1 else 1, count, dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    variants = {
        EMBEDDED: lambda: timed(lambda: x + embedding(places)),
        MODULE: lambda: timed(lambda: layer(x, places)),
    }
    expected = (x + embedding(places)).float()
    return compared(f"{count} of {length} × {dim}, {name_of(dtype)}", EMBEDDED, variants, expected, 0.0, rounds=15)
