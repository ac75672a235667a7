"""One query of 8 sequences against 4096 keys by `posenc.torch.attention`, against attention without an encoding."""

from __future__ import annotations

from typing import Any

import torch
from attention import BOUNDS, DIM, HEADS, RECORDS, asked, title
from measure import Variant, compared
from torch.nn.functional import scaled_dot_product_attention

from posenc.torch import attention

ROWS, KEYS = 8, 4096
PLAIN, STEP = "attention without an encoding", "posenc.torch.attention"


def run() -> list[dict[str, Any]]:
    """Records that read no content."""
    names = [name for name, record in RECORDS.items() if record.door != "scores"]
    return [case(name, dtype) for dtype in (torch.float32, torch.bfloat16) for name in names]


def case(name: str, dtype: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(ROWS, HEADS, 1, DIM, generator=generator).to(dtype)
    k, v = (torch.randn(ROWS, HEADS, KEYS, DIM, generator=generator).to(dtype) for _ in range(2))
    given = asked(name, KEYS, dtype)
    given |= {"query": given["key"][-1:]}

    def attended() -> Any:
        return attention(q, k, v, **given)

    variants = {
        PLAIN: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v)),
        STEP: lambda: Variant(attended, attended),
    }
    with torch.no_grad():
        expected = attention(q.float(), k.float(), v.float(), **given, impl="reference")
        what = title(name, KEYS, dtype).replace("tokens", "keys, a query of 8 rows")
        return compared(what, PLAIN, variants, expected, BOUNDS[dtype])
