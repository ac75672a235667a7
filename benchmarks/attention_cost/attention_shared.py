"""A bias that is made once a step for all layers, FIRE's: making it, and the attention of a layer that is given it."""

from __future__ import annotations

from typing import Any

import torch
from attention_cost.attention import BOUNDS, CAUSAL, COMPARED, LENGTHS, asked, drawn, expected, title
from measuring.measure import Variant, compared
from torch.nn.functional import scaled_dot_product_attention

from posenc.torch import attention, shared_bias

MAKING, GIVEN, EACH = "posenc, shared_bias", "posenc.torch.attention, given it", "posenc.torch.attention, by itself"
NAME = "FIRE"


def shared_title(length: int, dtype: Any) -> str:
    return f"{title(NAME, length, dtype)}, made once"


def run() -> list[dict[str, Any]]:
    found = [case(length, dtype) for dtype in (torch.float32, torch.bfloat16) for length in LENGTHS]
    return [*found, sizes()]


def case(length: int, dtype: Any) -> dict[str, Any]:
    """No gradient. `making` has no output of attention; the layer that is given what it made has."""
    q, k, v = drawn(length, dtype)
    asking = asked(NAME, length, dtype)
    place, modules = asking["query_positions"], asking["encodings"]
    with torch.no_grad():
        bias = shared_bias(modules, place, place, causal=True)

        def attended(encodings: Any) -> Any:
            return attention(q, k, v, **asking | {"encodings": encodings})

        variants = {
            CAUSAL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
            MAKING: lambda: Variant(lambda: shared_bias(modules, place, place, causal=True)),
            GIVEN: lambda: Variant(lambda: attended([bias]), lambda: attended([bias])[:, :, -COMPARED:]),
            EACH: lambda: Variant(lambda: attended(modules), lambda: attended(modules)[:, :, -COMPARED:]),
        }
        rounds = 5 if length == LENGTHS[0] else 3
        return compared(
            shared_title(length, dtype), CAUSAL, variants, expected(q, k, v, asking), BOUNDS[dtype], rounds=rounds
        )


def sizes() -> dict[str, Any]:
    """What a shared bias takes, in MiB."""
    values = {}
    with torch.no_grad():
        for length in LENGTHS:
            place = torch.arange(length)
            matrix = shared_bias(asked(NAME, length, torch.float32)["encodings"], place, place, causal=True).matrix
            values[f"{length} tokens"] = matrix.numel() * matrix.element_size() / 2**20
    return {"case": "MiB of a shared bias, 8 heads", "values": values, "left out": {}}
