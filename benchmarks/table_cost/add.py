"""A ready sinusoidal table added to embeddings, and one made in the same call."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import Maker, Variant, compared, floor, timed
from measuring.problem import name_of

import posenc
from posenc.torch import module

BATCH, TIME, DIM = 8, 2048, 1024


def run() -> list[dict[str, Any]]:
    with torch.no_grad():
        return [case(dtype) for dtype in (torch.float32, torch.bfloat16)]


def case(dtype: torch.dtype) -> dict[str, Any]:
    encoding, places = posenc.Sinusoidal(dim=DIM), torch.arange(TIME)
    x = torch.randn(BATCH, TIME, DIM, generator=torch.Generator().manual_seed(0)).to(dtype)
    table, layer = encoding.embed(places, dtype=dtype), module(encoding)
    out, hot, zero = torch.empty_like(x), x.clone(), torch.zeros_like(table)

    def positional_encodings() -> Variant:
        from positional_encodings.torch_encodings import PositionalEncoding1D, Summer

        summer = Summer(PositionalEncoding1D(DIM))
        return timed(lambda: summer(x))

    variants: dict[str, Maker] = {
        "copy_": floor(lambda: out.copy_(x)),
        # The traffic of adding in place, without numbers that grow from call to call.
        "x.add_(table)": lambda: Variant(lambda: hot.add_(zero), lambda: x.clone().add_(table)),
        "x + table": lambda: timed(lambda: x + table),
        "posenc, made and added": lambda: timed(lambda: encoding.attach(x, places)),
        "posenc, module": lambda: timed(lambda: layer(x, places)),
        "positional-encodings, its table kept": positional_encodings,
    }
    # One sum, rounded once or twice; the peer's angles are products in float32, its table in the dtype of x.
    bound = 4.0 * torch.finfo(dtype).eps * (1.0 + x.abs().max().item()) + 4.0 * TIME * 2.0**-24
    exact = x.float() + encoding.embed(places)
    return compared(f"{BATCH} × {TIME} × {DIM} {name_of(dtype)}", "copy_", variants, exact, bound)
