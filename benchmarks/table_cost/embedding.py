"""Rows of an embedding, times √d, plus positions."""

from __future__ import annotations

import math
from typing import Any

import torch
from measuring.measure import Maker, compared, floor, timed
from measuring.problem import name_of

import posenc
import posenc.torch

BATCH, TIME, DIM, VOCABULARY = 8, 2048, 1024, 32_000
ROWS, THREE, ONE = "index_select(out=)", "PyTorch, three steps", "posenc, one pass"


def run() -> list[dict[str, Any]]:
    with torch.no_grad():
        return [case(dtype) for dtype in (torch.float32, torch.bfloat16)]


def case(dtype: torch.dtype) -> dict[str, Any]:
    drawn, scale = torch.Generator().manual_seed(0), math.sqrt(DIM)
    weight = (torch.randn(VOCABULARY, DIM, generator=drawn) / scale).to(dtype)
    ids = torch.randint(VOCABULARY, (BATCH, TIME), generator=drawn)
    flat, out = ids.flatten(), torch.empty(BATCH * TIME, DIM, dtype=dtype)
    encoding, places = posenc.Sinusoidal(dim=DIM), torch.arange(TIME)
    exact, table = encoding.embed(places), encoding.embed(places, dtype=dtype)

    def three() -> torch.Tensor:
        return torch.nn.functional.embedding(ids, weight) * scale + table

    def layer() -> Any:
        module = posenc.torch.InputLayer(VOCABULARY, encoding, dropout=0.0, batch_first=True).to(dtype)
        module.embedding.copy_(weight)
        return timed(lambda: module(ids))

    variants: dict[str, Maker] = {
        ROWS: floor(lambda: torch.index_select(weight, 0, flat, out=out)),
        ONE: lambda: timed(lambda: posenc.torch.embed(ids, weight, exact, scale=scale, impl="native")),
        "posenc, InputLayer": layer,
        THREE: lambda: timed(three),
    }
    expected = torch.nn.functional.embedding(ids, weight).float() * scale + exact
    # The product and the table rounded each, and their sum.
    bound = 2.0 * torch.finfo(dtype).eps * (1.0 + expected.abs().max().item())
    return compared(f"{BATCH} × {TIME} × {DIM} {name_of(dtype)}", ROWS, variants, expected, bound)
