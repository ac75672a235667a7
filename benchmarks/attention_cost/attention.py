"""Attention with an encoding, by `posenc.torch.attention`, against causal attention without one."""

from __future__ import annotations

from typing import Any

import torch
from measuring.measure import Variant, compared
from torch.nn.functional import scaled_dot_product_attention

import posenc
from posenc.torch import attention, module

CAUSAL = "causal attention without an encoding"
AUTO = "posenc.torch.attention"
HEADS, DIM = 8, 64
RECORDS = {
    "RoPE": posenc.RoPE(dim=DIM, pairing="halves"),
    "ALiBi": posenc.ALiBi(heads=HEADS),
    "KERPLE": posenc.KerpleLog(heads=HEADS),
    "T5": posenc.T5Bias(heads=HEADS),
    "Sandwich": posenc.Sandwich(heads=HEADS),
    "FIRE": posenc.FIRE(heads=HEADS),
    "Shaw": posenc.Shaw(dim=DIM),
    "DeBERTa": posenc.DeBERTa(dim=DIM, heads=HEADS),
    "CoPE": posenc.CoPE(dim=DIM),
    "forgetting gate": posenc.ForgettingGate(heads=HEADS, model_dim=HEADS * DIM),
    "Transformer-XL": posenc.TransformerXL(dim=DIM, heads=HEADS, model_dim=HEADS * DIM),
    "distance bank": posenc.DistanceBank(heads=HEADS, model_dim=HEADS * DIM),
    "DAPE": posenc.DAPE(posenc.KerpleLog(heads=HEADS), dim=DIM),
    "PaTH": posenc.PaTH(dim=DIM, heads=HEADS, model_dim=HEADS * DIM),
}
LENGTHS = (1024, 4096)
#: Queries whose output is compared: the last ones, which see every key.
COMPARED = 64
#: Weights are rounded to the dtype before they meet the values, and sums are taken in another order.
BOUNDS = {torch.float32: 2.0**-15, torch.bfloat16: 2.0**-5}


def run() -> list[dict[str, Any]]:
    return [
        case(name, length, dtype) for dtype in (torch.float32, torch.bfloat16) for length in LENGTHS for name in RECORDS
    ]


def title(name: str, length: int, dtype: Any) -> str:
    return f"{name}, {length} tokens, 8 heads of 64, {str(dtype).removeprefix('torch.')}"


def drawn(length: int, dtype: Any) -> tuple[Any, ...]:
    return torch.randn(3, 1, HEADS, length, DIM, generator=torch.Generator().manual_seed(0)).to(dtype).unbind()


def asked(name: str, length: int, dtype: Any) -> dict[str, Any]:
    """The arguments of `attention` for an encoding, causal, with parameters that a seed draws."""
    encoding, place = RECORDS[name], torch.arange(length)
    reads = getattr(encoding, "reads", None) is not None
    hidden = torch.randn(1, length, HEADS * DIM, generator=torch.Generator().manual_seed(1)).to(dtype)
    return {
        "query_positions": place,
        "key_positions": place,
        "encodings": [module(encoding, seed=1)],
        "hidden": hidden if reads else None,
        "causal": True,
        "layout": "bhtd",
    }


def expected(q: Any, k: Any, v: Any, given: dict[str, Any]) -> Any:
    """The output of the last queries, by the readable reference in float64."""
    encoding, count = given["encodings"][0].encoding, min(COMPARED, q.shape[2])
    last = given | {"query_positions": given["query_positions"][-count:]}
    if getattr(encoding, "reads", None) == "query":
        last["hidden"] = given["hidden"][:, -count:].double()
    elif given["hidden"] is not None:
        last["hidden"] = given["hidden"].double()
    with torch.no_grad():
        return attention(q[:, :, -count:].double(), k.double(), v.double(), **last, impl="reference")


def case(name: str, length: int, dtype: Any) -> dict[str, Any]:
    """No gradient."""
    q, k, v = drawn(length, dtype)
    given = asked(name, length, dtype)

    def attended() -> Any:
        return attention(q, k, v, **given)

    variants = {
        CAUSAL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
        AUTO: lambda: Variant(attended, lambda: attended()[:, :, -COMPARED:]),
    }
    with torch.no_grad():
        bound, rounds = BOUNDS[dtype], 5 if length == LENGTHS[0] else 3
        return compared(title(name, length, dtype), CAUSAL, variants, expected(q, k, v, given), bound, rounds=rounds)
