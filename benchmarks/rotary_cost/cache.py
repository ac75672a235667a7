"""A step of decoding: queries rotated, keys rotated and written into their cache, values next to them."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import Variant, compared, floor
from measuring.peers import EAGER, wide_tables
from measuring.problem import DIM, KEYS, Problem, Shape, name_of, problem

import posenc.torch

LENGTH, SLOT = 1024, 700
COPY, TWO = "copy_ of q, k and v", f"{EAGER}, and index_copy_"
ONE = "posenc, one pass"
Step = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def run() -> list[dict[str, Any]]:
    return [case(batch, dtype) for batch in (32, 1) for dtype in (torch.float32, torch.bfloat16)]


def case(batch: int, dtype: torch.dtype) -> dict[str, Any]:
    given = problem("bhtd", dtype, shape=Shape(batch, 1), each=True)
    v = torch.randn(given.k.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    keys, values = torch.zeros(2, batch, KEYS, LENGTH, DIM, dtype=dtype)
    slot = torch.tensor([SLOT])
    out = torch.empty_like(given.q), torch.empty_like(given.k), torch.empty_like(v)

    def copy() -> None:
        for to, x in zip(out, (*given.pair, v), strict=True):
            to.copy_(x)

    def written(q: torch.Tensor) -> Step:
        return q, keys[:, :, SLOT : SLOT + 1], values[:, :, SLOT : SLOT + 1]

    def apart() -> Variant:
        from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

        cos, sin = wide_tables(given)

        def run() -> Step:
            q, k = apply_rotary_pos_emb(*given.pair, cos, sin)
            keys.index_copy_(2, slot, k)
            values.index_copy_(2, slot, v)
            return written(q)

        return Variant(run, run)

    def ours(step: Any, by: Any) -> Variant:
        hot = given.copies()
        return Variant(lambda: step(*hot, by), lambda: written(step(*given.copies(), by)))

    def in_two(q: torch.Tensor, k: torch.Tensor, by: Any) -> torch.Tensor:
        posenc.torch.rotate_(q, k, by, layout="bhtd", impl="native")
        keys.index_copy_(2, slot, k)
        values.index_copy_(2, slot, v)
        return q

    def in_one(q: torch.Tensor, k: torch.Tensor, by: Any) -> torch.Tensor:
        return posenc.torch.rotate_into_cache_(q, k, v, by, keys, values, slot, layout="bhtd", impl="native")

    variants = {
        COPY: floor(copy),
        ONE: lambda: ours(in_one, given.rotation),
        "posenc, one pass, angles in the kernel": lambda: ours(in_one, angles(given)),
        "posenc in place, and index_copy_": lambda: ours(in_two, given.rotation),
        TWO: apart,
    }
    expected = (*given.expected, v.float())
    return compared(f"batch {batch} {name_of(dtype)}", COPY, variants, expected, given.bound)


def angles(given: Problem) -> Any:
    return posenc.torch.angles(given.encoding, given.places)
