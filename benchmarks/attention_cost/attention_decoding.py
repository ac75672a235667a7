"""One query of 8 sequences against 4096 keys by `posenc.torch.attention`, against attention without an encoding.

A cache holds keys as `rotate_keys` gives them. A bias is made in each layer, or once a step for all layers.
"""

from __future__ import annotations

from typing import Any

import torch
from attention_cost.attention import BOUNDS, DIM, HEADS, RECORDS, asked, title
from measuring.measure import Maker, compared, floor, timed
from torch.nn.functional import scaled_dot_product_attention

from posenc.torch import attention, rotate_keys, shared_bias

ROWS, KEYS = 8, 4096
PLAIN, STEP = "attention without an encoding", "posenc.torch.attention"
SHARED, ROTATING = f"{STEP}, given a shared bias", f"{STEP}, keys not rotated before"


def run() -> list[dict[str, Any]]:
    """Encodings that read no content."""
    names = [name for name, encoding in RECORDS.items() if encoding.door != "scores"]
    return [case(name, dtype) for dtype in (torch.float32, torch.bfloat16) for name in names]


def case(name: str, dtype: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(ROWS, HEADS, 1, DIM, generator=generator).to(dtype)
    k, v = (torch.randn(ROWS, HEADS, KEYS, DIM, generator=generator).to(dtype) for _ in range(2))
    given = asked(name, KEYS, dtype)
    given |= {"query_positions": given["key_positions"][-1:]}
    encodings, rotates = given["encodings"], RECORDS[name].door == "rotates"
    cached = {"k": k, "v": v, "keys_rotated": False}

    def attended(**more: Any) -> Any:
        return attention(q, **cached | given | more)

    with torch.no_grad():
        expected = attention(q.float(), k.float(), v.float(), **given, impl="reference")
        variants: dict[str, Maker] = {PLAIN: floor(lambda: scaled_dot_product_attention(q, k, v))}
        if rotates:
            variants[ROTATING] = lambda: timed(lambda: attention(q, k, v, **given))
            rotated, values = rotate_keys(
                k, v, key_positions=given["key_positions"], encodings=encodings, layout="bhtd"
            )
            cached = {"k": rotated, "v": values, "keys_rotated": True}
        else:
            row = shared_bias(encodings, given["query_positions"], given["key_positions"], causal=True)
            variants[SHARED] = lambda: timed(lambda: attended(encodings=[row]))
        variants[STEP] = lambda: timed(attended)
        what = title(name, KEYS, dtype).replace("tokens", "keys, a query of 8 rows")
        return compared(what, PLAIN, variants, expected, BOUNDS[dtype], rounds=5)
