"""Attention with an encoding, by `posenc.torch.attention`, against causal attention without one."""

from __future__ import annotations

from typing import Any

import torch
from measure import Maker, Variant, compared, timed
from torch.nn.functional import scaled_dot_product_attention

import posenc
from posenc.torch import attention, module

CAUSAL = "causal attention without an encoding"
AUTO, DENSE, TRAINED = "posenc.torch.attention", "mask made, then attention", "posenc.torch.attention, with gradient"
CAUSAL_TRAINED = "causal attention without an encoding, with gradient"
HEADS, DIM = 8, 64
#: What each record is asked at: those that read content take all queries and keys of two lengths in one tile or more.
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
SHORT, LONG = 1024, 4096
#: Beyond the shorter length these cost seconds a call.
SHORT_ALONE = tuple(name for name, record in RECORDS.items() if name == "FIRE" or record.door == "scores")
#: Weights are rounded to the dtype before they meet the values, and sums are taken in another order.
BOUNDS = {torch.float32: 2.0**-15, torch.bfloat16: 2.0**-5}


def run() -> list[dict[str, Any]]:
    cases = []
    for dtype in (torch.float32, torch.bfloat16):
        cases += [case(name, SHORT, dtype) for name in RECORDS]
        cases += [case(name, LONG, dtype) for name in RECORDS if name not in SHORT_ALONE]
    return [*cases, *(trained(name, SHORT) for name in RECORDS if name not in SHORT_ALONE)]


def title(name: str, length: int, dtype: Any) -> str:
    return f"{name}, {length} tokens, 8 heads of 64, {str(dtype).removeprefix('torch.')}"


def drawn(length: int, dtype: Any) -> tuple[Any, ...]:
    return torch.randn(3, 1, HEADS, length, DIM, generator=torch.Generator().manual_seed(0)).to(dtype).unbind()


def case(name: str, length: int, dtype: Any) -> dict[str, Any]:
    """No gradient."""
    q, k, v = drawn(length, dtype)
    place, held = torch.arange(length), module(RECORDS[name])
    hidden = None
    if getattr(RECORDS[name], "reads", None) is not None:
        hidden = torch.randn(1, length, HEADS * DIM, generator=torch.Generator().manual_seed(1)).to(dtype)

    def attended(impl: str) -> Any:
        return attention(
            q,
            k,
            v,
            query=place,
            key=place,
            encodings=[held],
            causal=True,
            hidden=hidden,
            layout="bhtd",
            impl=impl,  # type: ignore[arg-type]
        )

    variants: dict[str, Maker] = {
        CAUSAL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
        AUTO: lambda: timed(lambda: attended("auto")),
    }
    if length == SHORT:
        variants[DENSE] = lambda: timed(lambda: attended("dense"))
    with torch.no_grad():
        expected = attended("reference")
        return compared(title(name, length, dtype), CAUSAL, variants, expected, BOUNDS[dtype], rounds=5)


def trained(name: str, length: int) -> dict[str, Any]:
    """Forward and backward, in float32; what is shown is the output."""
    q, k, v = (x.requires_grad_() for x in drawn(length, torch.float32))
    place, held = torch.arange(length), module(RECORDS[name])

    def attended() -> Any:
        return attention(q, k, v, query=place, key=place, encodings=[held], causal=True, layout="bhtd")

    def stepped(forward: Any) -> Any:
        output = forward()
        output.sum().backward()
        return output

    variants: dict[str, Maker] = {
        CAUSAL_TRAINED: lambda: Variant(lambda: stepped(lambda: scaled_dot_product_attention(q, k, v, is_causal=True))),
        TRAINED: lambda: timed(lambda: stepped(attended)),
    }
    with torch.no_grad():
        expected = attended()
    name = f"{title(name, length, torch.float32)}, trained"
    return compared(name, CAUSAL_TRAINED, variants, expected, BOUNDS[torch.float32], rounds=5)
