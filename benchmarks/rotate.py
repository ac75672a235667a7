"""Applying a rotation to queries and keys."""

from __future__ import annotations

from typing import Any

import torch
from measure import ratios
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import posenc
from posenc.torch import chosen, rotate, rotate_


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    return [_case(1024, 1, dtype) for dtype in (torch.float32, torch.bfloat16)] + [_case(1, 32, torch.float32)]


def _case(length: int, batch: int, dtype: torch.dtype) -> dict[str, Any]:
    q = torch.randn(batch, 32, length, 128, generator=torch.Generator().manual_seed(0)).to(dtype)
    k = torch.randn(batch, 8, length, 128, generator=torch.Generator().manual_seed(1)).to(dtype)
    turn = posenc.RoPE(dim=128, pairing="halves").turn(torch.arange(length) + 4000)
    cos = torch.cat([turn.cos, turn.cos], -1)[None].to(dtype)
    sin = torch.cat([turn.sin, turn.sin], -1)[None].to(dtype)
    out = torch.empty_like(q), torch.empty_like(k)

    def copy() -> None:
        out[0].copy_(q)
        out[1].copy_(k)

    hot = q.clone(), k.clone()

    def in_place() -> None:
        rotate_(*hot, turn, layout="bhtd", impl="native")

    def into_new() -> tuple[torch.Tensor, torch.Tensor]:
        return rotate(q, k, turn, layout="bhtd", impl="native")

    def ours() -> tuple[torch.Tensor, torch.Tensor]:
        return turn(q, layout="bhtd"), turn(k, layout="bhtd")

    def theirs() -> tuple[torch.Tensor, torch.Tensor]:
        return apply_rotary_pos_emb(q, k, cos, sin)

    # One rounding of the result against several: a few units in the last place of numbers of size about 4.
    bound = 8 * torch.finfo(dtype).eps
    gap = max((a.float() - b.float()).abs().max().item() for a, b in zip(ours(), theirs(), strict=True))
    if not gap <= bound * 4:
        raise SystemExit(f"posenc and the peer differ by {gap} in {dtype}")
    kernels = {}
    if chosen(q, k, turn, layout="bhtd").impl == "native":
        if not all(torch.equal(a, b) for a, b in zip(into_new(), ours(), strict=True)):
            raise SystemExit(f"the kernel and the reference differ in {dtype}")
        kernels = {"posenc kernel, in place": in_place, "posenc kernel, new memory": into_new}
    variants = {"copy_ of q and k": copy, "posenc Turn, reference path": ours, "transformers eager": theirs} | kernels
    return ratios(f"batch {batch}, {length} tokens, 32 and 8 heads of 128, {dtype}", "copy_ of q and k", variants)
