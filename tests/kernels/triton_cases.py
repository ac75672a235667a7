"""What tests/kernels/test_triton.py runs in a process of its own, in Triton's interpreter: each case raises or passes."""

from __future__ import annotations

import sys
from typing import Any

import torch

import posenc
from posenc import AxialRoPE, Partial, RoPE, YaRN
from posenc.torch import chosen, rotate, rotate_

RECORDS = (
    RoPE(dim=16, pairing="halves"),
    RoPE(dim=6),
    RoPE(dim=10, pairing="halves", scaling=YaRN(factor=8.0, original=128)),
    Partial(RoPE(dim=6, pairing="halves"), dim=11, start=3),
    Partial(RoPE(dim=8), dim=12),
    AxialRoPE(axis=(0, 0, 0, 1, 1, 1), rung=(0, 1, 2, 0, 1, 2), ladder=6, pairing="halves", blocks=2),
)


def content(count: int, time: int, dim: int, layout: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    shape = (2, count, time, dim) if layout == "bhtd" else (2, time, count, dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count)).to(dtype)


def same(found: Any, wanted: Any) -> None:
    for mine, theirs in zip(found, wanted, strict=True):
        # Triton's interpreter cuts bfloat16 off where a GPU rounds: one unit in the last place.
        unit = 2**-7 * theirs.abs() if theirs.dtype == torch.bfloat16 else torch.zeros_like(theirs)
        if mine.dtype != theirs.dtype or not ((mine.float() - theirs.float()).abs() <= unit.float()).all():
            raise SystemExit(f"expected {theirs.flatten()[:4]}, got {mine.flatten()[:4]}")


def every_record() -> None:
    for record in RECORDS:
        axes = () if record.axes == 1 else (2,)
        for rows, layout, dtype in (
            ((), "bhtd", torch.float32),
            ((2,), "bthd", torch.bfloat16),
            ((2,), "bhtd", torch.float16),
        ):
            places = torch.randint(0, 100_000, (*rows, 5, *axes), generator=torch.Generator().manual_seed(3))
            turn = record.turn(places)
            q, k = (content(count, 5, record.head_dim, layout, dtype) for count in (6, 2))
            wanted = rotate(q, k, turn, layout=layout, impl="reference")
            same(rotate(q, k, turn, layout=layout, impl="triton"), wanted)
            same(rotate_(q.clone(), k.clone(), turn, layout=layout, impl="triton"), wanted)


def heads_of_their_own() -> None:
    every = RoPE(dim=8).turn(torch.arange(15).reshape(3, 5))
    turn = posenc.Turn(every.cos, every.sin, every.pairing, 1.0, heads=3)
    q, k = content(3, 5, 8, "bhtd"), content(3, 5, 8, "bhtd") + 1
    same(rotate(q, k, turn, layout="bhtd", impl="triton"), rotate(q, k, turn, layout="bhtd", impl="reference"))


def gradients() -> None:
    turn = Partial(RoPE(dim=6, pairing="halves", scaling=YaRN(factor=4.0, original=64)), dim=9, start=2).turn(
        torch.arange(4)
    )
    found = []
    for impl in ("triton", "reference"):
        q, k = (content(count, 4, 9, "bthd").requires_grad_() for count in (4, 2))
        turned = rotate(q, k, turn, layout="bthd", impl=impl)
        (turned[0].square().sum() + turned[1].sum()).backward()
        found.append((q.grad, k.grad))
    for mine, theirs in zip(*found, strict=True):
        if not (mine - theirs).abs().max() <= 3 * 16 * 2**-24:  # two products and a sum of numbers below 16
            raise SystemExit(f"gradients are {(mine - theirs).abs().max()} apart")


def refusals() -> None:
    q, k = content(2, 3, 8, "bhtd").double(), content(2, 3, 8, "bhtd").double()
    turn = RoPE(dim=8).turn(torch.arange(3))
    if chosen(q, k, RoPE(dim=8).turn(torch.arange(3), dtype=torch.float64), layout="bhtd").impl != "reference":
        raise SystemExit("float64 is not for this kernel")
    try:
        rotate(q, k, turn, layout="bhtd", impl="triton")
    except ValueError as error:
        if not str(error).startswith("impl must be one that can turn these tensors; got 'triton', but"):
            raise
    else:
        raise SystemExit("float64 was turned")


if __name__ == "__main__":
    {case.__name__: case for case in (every_record, heads_of_their_own, gradients, refusals)}[sys.argv[1]]()
