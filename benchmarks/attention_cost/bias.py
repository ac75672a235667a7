"""Relative biases in attention: as overlapping views, and as matrices, against no bias at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from measuring.measure import Maker, Variant, compared, timed
from torch.nn.functional import scaled_dot_product_attention

import posenc
from posenc.torch import score_mod, strided, strided_attention

FULL, CAUSAL = "attention without bias", "causal attention without bias"
HEADS, DIM = 8, 64


def run() -> list[dict[str, Any]]:
    with torch.no_grad():
        return [t5(4096), alibi(4096)]


def drawn(length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = torch.randn(3, 1, HEADS, length, DIM, generator=torch.Generator().manual_seed(0))
    return q, k, v


def t5(length: int) -> dict[str, Any]:
    """Every key is seen."""
    q, k, v = drawn(length)
    places, encoding = torch.arange(length), posenc.T5Bias(heads=HEADS)
    params = {"table": torch.randn(32, HEADS, generator=torch.Generator().manual_seed(1))}
    # With four axes: with three, as `matrix` gives it, PyTorch leaves its flash kernel and takes several times as long.
    ready = encoding.matrix(places, places, params)[None]
    variants: dict[str, Maker] = {
        FULL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v)),
        "posenc, view made and used": lambda: timed(
            lambda: strided_attention(q, k, v, strided(encoding, places, places, params))
        ),
        "posenc, view alone": lambda: Variant(lambda: strided(encoding, places, places, params)),
        "posenc, matrix made": lambda: timed(
            lambda: scaled_dot_product_attention(q, k, v, attn_mask=encoding.matrix(places, places, params)[None])
        ),
        "matrix ready": lambda: timed(lambda: scaled_dot_product_attention(q, k, v, attn_mask=ready)),
        "transformers bias, made": lambda: transformers_t5(q, k, v, params["table"]),
    }
    expected = scaled_dot_product_attention(q, k, v, attn_mask=ready)
    return compared(f"T5, {length} tokens, 8 heads of 64, float32", FULL, variants, expected, 2.0**-18, rounds=3)


def transformers_t5(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor) -> Variant:
    from transformers.models.t5.modeling_t5 import T5Attention, T5Config

    config = T5Config(num_heads=HEADS, relative_attention_num_buckets=32, relative_attention_max_distance=128)
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    layer.relative_attention_bias.weight.copy_(table)
    length = q.shape[-2]
    return timed(lambda: scaled_dot_product_attention(q, k, v, attn_mask=layer.compute_bias(length, length)))


def alibi(length: int) -> dict[str, Any]:
    """No key after the query is seen."""
    q, k, v = drawn(length)
    places, encoding = torch.arange(length), posenc.ALiBi(heads=HEADS)
    slopes = torch.as_tensor(encoding.slopes(), dtype=torch.float32)[:, None, None]
    after = places[None, :] > places[:, None]

    def matrix() -> torch.Tensor:
        distance = (places[:, None] - places[None, :]).float()
        return (-slopes * distance).masked_fill(after, float("-inf"))[None]

    def flexible() -> Variant:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device="cpu")
        attended = torch.compile(flex_attention, dynamic=False)
        modified = score_mod(encoding, places, places)
        return timed(lambda: attended(q, k, v, score_mod=modified, block_mask=mask))

    ready = matrix()
    variants: dict[str, Maker] = {
        CAUSAL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
        "posenc, view made and used": lambda: timed(
            lambda: strided_attention(q, k, v, strided(encoding, places, places, causal=True))
        ),
        "posenc, view made and used, all queries at once": lambda: timed(
            lambda: strided_attention(q, k, v, replace(strided(encoding, places, places, causal=True), ahead=None))
        ),
        "posenc, score_mod in compiled FlexAttention": flexible,
        "matrix ready": lambda: timed(lambda: scaled_dot_product_attention(q, k, v, attn_mask=ready)),
        "matrix made": lambda: timed(lambda: scaled_dot_product_attention(q, k, v, attn_mask=matrix())),
    }
    expected = scaled_dot_product_attention(q, k, v, attn_mask=ready)
    # Two orders of summing a softmax of numbers down to minus the length of the sequence.
    return compared(f"ALiBi, {length} tokens, 8 heads of 64, float32", CAUSAL, variants, expected, 2.0**-12, rounds=3)
