"""Forward and backward through `posenc.torch.attention`, against causal attention without an encoding."""

from __future__ import annotations

from typing import Any

import torch
from attention_cost.attention import BOUNDS, CAUSAL, RECORDS, asked, drawn, title
from measuring.measure import Variant, compared
from torch.nn.functional import scaled_dot_product_attention

from posenc.torch import attention

CAUSAL_TRAINED, TRAINED = f"{CAUSAL}, with gradient", "posenc.torch.attention, with gradient"
LENGTH = 1024


def run() -> list[dict[str, Any]]:
    return [case(name) for name in RECORDS]


def case(name: str) -> dict[str, Any]:
    """In float32; what is compared is the gradient of q by the path that is chosen and by the readable reference."""
    q, k, v = (x.clone().requires_grad_() for x in drawn(LENGTH, torch.float32))
    given = asked(name, LENGTH, torch.float32)
    weights = torch.randn(q.shape, generator=torch.Generator().manual_seed(2))

    def stepped(output: Any) -> Any:
        for leaf in (q, k, v, *given["encodings"][0].parameters()):
            leaf.grad = None
        (output * weights).sum().backward()
        return q.grad

    variants = {
        CAUSAL_TRAINED: lambda: Variant(lambda: stepped(scaled_dot_product_attention(q, k, v, is_causal=True))),
        TRAINED: lambda: Variant(
            lambda: stepped(attention(q, k, v, **given)), lambda: stepped(attention(q, k, v, **given))
        ),
    }
    expected = stepped(attention(q, k, v, **given, impl="reference")).clone()
    # A gradient has sums of sums, as large as its largest number.
    bound = BOUNDS[torch.float32] * max(1.0, expected.abs().max().item())
    return compared(
        f"{title(name, LENGTH, torch.float32)}, trained", CAUSAL_TRAINED, variants, expected, bound, rounds=5
    )
