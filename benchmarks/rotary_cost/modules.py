"""Modules, which make their rotation or table in each call, against one that is made and applied, and a ready table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from measuring.measure import Maker, compared, timed
from measuring.peers import EAGER
from measuring.problem import Shape, name_of, problem

import posenc
import posenc.torch
from posenc.torch import module, rotate

MODULE, READY, TABLE = "posenc, module", "posenc, turn and rotate", "x + table"
SHAPE, BATCH, TIME, DIM = Shape(1, 2048), 8, 512, 512
Call = Callable[[], Any]


def run() -> list[dict[str, Any]]:
    cases = []
    for dtype in (torch.float32, torch.bfloat16):
        for trained in (False, True):
            with torch.set_grad_enabled(trained):
                cases += [rotation(dtype, trained=trained), addition(dtype, trained=trained)]
    return cases


def name(kind: str, dtype: torch.dtype, *, trained: bool) -> str:
    return f"{kind}, {name_of(dtype)}{', with gradients' if trained else ''}"


def rotation(dtype: torch.dtype, *, trained: bool) -> dict[str, Any]:
    given = problem("bhtd", dtype, shape=SHAPE)
    layer, places, other = module(given.encoding), given.places, given.places.clone()
    q, k = (x.requires_grad_(trained) for x in given.pair)

    def ready() -> Any:
        return rotate(q, k, posenc.torch.rotation(given.encoding, places), layout="bhtd")

    def eager() -> Any:
        from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

        rotation = posenc.torch.rotation(given.encoding, places)
        cos, sin = (torch.cat([part, part], -1).to(dtype)[None] for part in (rotation.cos, rotation.sin))
        return apply_rotary_pos_emb(q, k, cos, sin)

    calls: dict[str, Call] = {
        READY: ready,
        MODULE: lambda: layer(q, k, places, places, layout="bhtd"),
        "posenc, module, positions given twice": lambda: layer(q, k, places, other, layout="bhtd"),
        EAGER: eager,
    }
    return measured(name("RoPE", dtype, trained=trained), READY, calls, (q, k), given.bound, trained=trained)


def addition(dtype: torch.dtype, *, trained: bool) -> dict[str, Any]:
    encoding, places = posenc.Sinusoidal(dim=DIM), torch.arange(TIME)
    x = torch.randn(BATCH, TIME, DIM, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_(trained)
    layer, table = module(encoding), encoding.embed(places, dtype=dtype)
    calls: dict[str, Call] = {TABLE: lambda: x + table, MODULE: lambda: layer(x, places)}
    # One sum, rounded once or twice.
    bound = 4.0 * torch.finfo(dtype).eps * (1.0 + x.abs().max().item())
    return measured(name("Sinusoidal", dtype, trained=trained), TABLE, calls, (x,), bound, trained=trained)


def measured(
    case: str, below: str, calls: dict[str, Call], of: tuple[torch.Tensor, ...], bound: float, *, trained: bool
) -> dict[str, Any]:
    """Results, and where it is trained gradients behind them, compared with those of the first way."""
    back = tuple(torch.randn(x.shape, generator=torch.Generator().manual_seed(1)).to(x.dtype) for x in of)

    def both(call: Call) -> Any:
        results = call()
        results = results if isinstance(results, tuple) else (results,)
        return (*results, *torch.autograd.grad(results, of, back)) if trained else results

    makers: dict[str, Maker] = {one: (lambda call=call: timed(lambda: both(call))) for one, call in calls.items()}
    expected = tuple(x.detach().float() for x in both(calls[below]))
    return compared(case, below, makers, expected, bound, rounds=15)
