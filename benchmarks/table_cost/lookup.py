"""Rows of a learned table added by a module, against PyTorch's embedding: one token and many, short tables and long,
in evaluation and in training."""

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
    kinds = [(dtype, sizes) for dtype in (torch.float32, torch.bfloat16) for sizes in SIZES]
    with torch.no_grad():
        cases = [case(dtype, *sizes) for dtype, sizes in kinds]
    return [*cases, *(trained(dtype, *sizes) for dtype, sizes in kinds)]


def title(dtype: torch.dtype, length: int, dim: int, count: int) -> str:
    return f"{count} of {length} × {dim}, {name_of(dtype)}"


def trained(dtype: torch.dtype, length: int, dim: int, count: int) -> dict[str, Any]:
    """Forward and backward; what is compared is the gradient of the table, which bfloat16 sums in its own way."""
    layer, embedding, x, places = drawn(dtype, length, dim, count)
    x.requires_grad_()
    back = torch.randn(x.shape, generator=torch.Generator().manual_seed(1)).to(dtype)

    def of_table(total: Any, table: Any) -> Any:
        return torch.autograd.grad(total, (table, x), back)[0]

    variants = {
        EMBEDDED: lambda: timed(lambda: of_table(x + embedding(places), embedding.weight)),
        MODULE: lambda: timed(lambda: of_table(layer(x, places), layer.table)),
    }
    expected = torch.zeros(length, dim, dtype=torch.float64).index_add(0, places, back.double().sum(0))
    bound = 4 * torch.finfo(dtype).eps * expected.abs().max().item()
    return compared(f"{title(dtype, length, dim, count)}, trained", EMBEDDED, variants, expected, bound, rounds=15)


def drawn(dtype: torch.dtype, length: int, dim: int, count: int) -> tuple[Any, ...]:
    """A module, an embedding with its table, inputs and their positions."""
    layer, places = module(posenc.Learned(dim=dim, length=length), seed=0).to(dtype), torch.arange(count) + 3
    embedding = torch.nn.Embedding(length, dim).to(dtype)
    with torch.no_grad():
        embedding.weight.copy_(layer.table)
    x = torch.randn(BATCH if count > 1 else 1, count, dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    return layer, embedding, x, places


def case(dtype: torch.dtype, length: int, dim: int, count: int) -> dict[str, Any]:
    """A table as narrow as x."""
    layer, embedding, x, places = drawn(dtype, length, dim, count)
    variants = {
        EMBEDDED: lambda: timed(lambda: x + embedding(places)),
        MODULE: lambda: timed(lambda: layer(x, places)),
    }
    expected = (x + embedding(places)).float()
    return compared(title(dtype, length, dim, count), EMBEDDED, variants, expected, 0.0, rounds=15)
