"""Attention with T5's bias and ALiBi, by posenc, transformers, x-transformers and flex_attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from attention_cost.attention import AUTO, BOUNDS, CAUSAL, DIM, HEADS, asked, drawn, expected, title
from measuring.measure import Maker, Variant, compared
from torch.nn.functional import scaled_dot_product_attention

from posenc.torch import attention, score_mod

LENGTH, COMPARED = 1024, 64
Masked = Callable[[], Any]


def run() -> list[dict[str, Any]]:
    return [case("T5", of_t5), case("ALiBi", of_alibi)]


def _variant(run: Callable[[], Any]) -> Variant:
    return Variant(run, lambda: run()[:, :, -COMPARED:])


def case(name: str, peers: Callable[..., dict[str, Callable[[], Any]]]) -> dict[str, Any]:
    q, k, v = drawn(LENGTH, torch.float32)
    given = asked(name, LENGTH, torch.float32)
    with torch.no_grad():
        made = {AUTO: lambda: attention(q, k, v, **given), **peers(q, k, v, given)}
    variants: dict[str, Maker] = {
        CAUSAL: lambda: Variant(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
        **{peer: partial(_variant, run) for peer, run in made.items()},
    }
    with torch.no_grad():
        want = expected(q, k, v, given)
        return compared(title(name, LENGTH, torch.float32), CAUSAL, variants, want, BOUNDS[torch.float32], rounds=5)


def of_t5(q: Any, k: Any, v: Any, given: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention
    from x_transformers.x_transformers import RelativePositionBias

    encoding, table = given["encodings"][0].encoding, given["encodings"][0].table.detach()
    config = T5Config(
        num_heads=HEADS,
        relative_attention_num_buckets=32,
        relative_attention_max_distance=128,
        is_decoder=not encoding.bidirectional,
    )
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    layer.relative_attention_bias.weight.copy_(table)
    other = RelativePositionBias(
        scale=1.0, causal=not encoding.bidirectional, num_buckets=32, max_distance=128, heads=HEADS
    )
    other.relative_attention_bias.weight.copy_(table)
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    def masked(bias: Any) -> Any:
        return scaled_dot_product_attention(q, k, v, attn_mask=bias.masked_fill(hidden, float("-inf")))

    return {
        "transformers, T5": lambda: masked(layer.compute_bias(LENGTH, LENGTH)),
        "x-transformers": lambda: masked(other(LENGTH, LENGTH)[None]),
        "flex_attention, compiled": flex(q, k, v, given),
    }


def of_alibi(q: Any, k: Any, v: Any, given: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from x_transformers.x_transformers import AlibiPositionalBias

    other, seen = AlibiPositionalBias(heads=HEADS, total_heads=HEADS), torch.ones(1, LENGTH)
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    def bloom() -> Any:
        alibi = build_alibi_tensor(seen, HEADS, torch.float32)
        scores = alibi.baddbmm(q[0], k[0].mT, beta=1.0, alpha=DIM**-0.5)
        return (scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v[0])[None]

    def theirs() -> Any:
        bias = other(LENGTH, LENGTH)[None].masked_fill(hidden, float("-inf"))
        return scaled_dot_product_attention(q, k, v, attn_mask=bias)

    return {"transformers, BLOOM": bloom, "x-transformers": theirs, "flex_attention, compiled": flex(q, k, v, given)}


def flex(q: Any, k: Any, v: Any, given: dict[str, Any]) -> Callable[[], Any]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    attended = torch.compile(flex_attention, dynamic=False)
    block_mask = create_block_mask(lambda b, h, i, j: j <= i, None, None, LENGTH, LENGTH, device="cpu")
    add = score_mod(given["encodings"][0], given["query_positions"], given["key_positions"])
    return lambda: attended(q, k, v, score_mod=add, block_mask=block_mask)
