"""A relative bias in attention without its matrix: the overlapping view against no bias at all and against matrices."""

from __future__ import annotations

from typing import Any

import torch
from measure import ratios
from torch.nn.functional import scaled_dot_product_attention

import posenc
from posenc.torch import strided, strided_attention


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    return [_case(length) for length in (2048, 4096)]


def _case(length: int) -> dict[str, Any]:
    places = torch.arange(length)
    q, k, v = torch.randn(3, 1, 8, length, 64, generator=torch.Generator().manual_seed(0))
    t5, alibi = posenc.T5Bias(heads=8), posenc.ALiBi(heads=8)
    params = {"table": torch.randn(32, 8, generator=torch.Generator().manual_seed(1))}
    # With four axes: with three, as `matrix` gives it, PyTorch leaves its flash kernel and takes several times as long.
    ready = t5.matrix(places, places, params)[None]
    if not torch.equal(strided(t5, places, places, params).flip(-2), ready):
        raise SystemExit("the view is not the matrix")

    def viewed(record: posenc.Biases, learned: Any = None, causal: bool = False) -> torch.Tensor:
        return strided_attention(q, k, v, strided(record, places, places, learned, causal=causal))

    expected = scaled_dot_product_attention(q, k, v, attn_mask=ready)
    gap = (viewed(t5, params) - expected).abs().max().item()
    # The same numbers enter softmax in the same order, row by row.
    if not gap <= 2.0**-20:
        raise SystemExit(f"attention with the view and with the matrix differ by {gap}")
    variants = {
        "attention without bias": lambda: scaled_dot_product_attention(q, k, v),
        "T5, view made and used": lambda: viewed(t5, params),
        "T5, view made, causal": lambda: viewed(t5, params, True),
        "ALiBi, view made and used": lambda: viewed(alibi),
        "T5, matrix ready": lambda: scaled_dot_product_attention(q, k, v, attn_mask=ready),
        "T5, matrix made": lambda: scaled_dot_product_attention(
            q, k, v, attn_mask=t5.matrix(places, places, params)[None]
        ),
        "T5, view alone": lambda: strided(t5, places, places, params),
    }
    return ratios(f"{length} tokens, 8 heads of 64, float32", "attention without bias", variants, rounds=7)
