"""Attention in a window, against causal attention without an encoding; and new queries behind a longer cache.

A window of 300 keys leaves 0.14 of the pairs that a causal mask leaves of 4096 tokens. Outputs of the last queries are
compared with the readable reference.
"""

from __future__ import annotations

from typing import Any

import torch
from attention_cost.attention import BOUNDS, CAUSAL, COMPARED, asked, drawn, expected
from measuring.measure import Variant, compared
from torch.nn.functional import scaled_dot_product_attention

from posenc.torch import attention

LENGTH, SLIDING, QUERIES = 4096, 300, 512
WINDOWS = ("RoPE", "ALiBi", "KERPLE", "T5", "Sandwich", "Shaw", "forgetting gate")
NEW = ("RoPE", "ALiBi", "T5")
FULL = "attention of these queries without an encoding, all keys seen"
WINDOWED = "posenc.torch.attention"
#: Pairs that the window leaves, over those of a causal mask.
SHARE = (SLIDING * LENGTH - SLIDING * (SLIDING - 1) / 2) / (LENGTH * (LENGTH + 1) / 2)
MOST = round(1.3 * SHARE + 0.2, 2)


def window_title(name: str) -> str:
    return f"{name}, {LENGTH} tokens, window of {SLIDING}, 8 heads of 64, float32"


def new_title(name: str) -> str:
    return f"{name}, {QUERIES} new queries, {LENGTH} keys, 8 heads of 64, float32"


def run() -> list[dict[str, Any]]:
    with torch.no_grad():
        return [*map(window, WINDOWS), *map(new_queries, NEW)]


def window(name: str) -> dict[str, Any]:
    q, k, v = drawn(LENGTH, torch.float32)
    given = asked(name, LENGTH, torch.float32)

    def attended() -> Any:
        return attention(q, k, v, **given, sliding_window=SLIDING)

    variants = {
        CAUSAL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
        WINDOWED: lambda: Variant(attended, lambda: attended()[:, :, -COMPARED:]),
    }
    want = expected(q, k, v, given | {"sliding_window": SLIDING})
    return compared(window_title(name), CAUSAL, variants, want, BOUNDS[torch.float32], rounds=5)


def new_queries(name: str) -> dict[str, Any]:
    q, k, v = drawn(LENGTH, torch.float32)
    given, q = asked(name, LENGTH, torch.float32), q[:, :, -QUERIES:]
    given |= {"query_positions": given["key_positions"][-QUERIES:]}

    def attended() -> Any:
        return attention(q, k, v, **given)

    variants = {
        FULL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v)),
        WINDOWED: lambda: Variant(attended, lambda: attended()[:, :, -COMPARED:]),
    }
    want = expected(q, k, v, given)
    return compared(new_title(name), FULL, variants, want, BOUNDS[torch.float32], rounds=9)
