"""Dense biases against the attention they enter."""

from __future__ import annotations

from typing import Any

import torch
from measure import ratios
from torch.nn.functional import scaled_dot_product_attention

import posenc


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    return [_case(1024)]


def _case(length: int) -> dict[str, Any]:
    places = torch.arange(length)
    q, k, v = torch.randn(3, 1, 8, length, 64, generator=torch.Generator().manual_seed(0))
    alibi, t5 = posenc.ALiBi(heads=8), posenc.T5Bias(heads=8)
    table = {"table": torch.randn(32, 8, generator=torch.Generator().manual_seed(1))}
    ready = alibi.matrix(places, places)
    slopes = torch.as_tensor(alibi.slopes(), dtype=torch.float32)
    by_hand = -slopes[:, None, None] * (places[None, :, None] - places[None, None, :]).abs()
    if not torch.allclose(ready, by_hand, rtol=1e-6):
        raise SystemExit("the ALiBi bias is not slope × distance")
    variants = {
        "attention without bias": lambda: scaled_dot_product_attention(q, k, v),
        "ALiBi matrix alone": lambda: alibi.matrix(places, places),
        "T5 matrix alone": lambda: t5.matrix(places, places, table),
        "attention with ALiBi, matrix ready": lambda: scaled_dot_product_attention(q, k, v, attn_mask=ready),
        "attention with ALiBi, matrix made": lambda: scaled_dot_product_attention(
            q, k, v, attn_mask=alibi.matrix(places, places)
        ),
    }
    return ratios(f"{length} tokens, 8 heads of 64, float32", "attention without bias", variants, rounds=5)
