"""Whole models whose positions act inside attention, with random weights: their own attention, and ours in its place.

A few lines for each model hand its queries, keys, values and what it learned of positions to `attention`; the output is
compared with the stock model's before anything is timed. Whole sequences alone, without a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from types import MethodType
from typing import Any

import torch
import transformers
from measure import Variant, compared, floor

from posenc import ALiBi, DeBERTa, T5Bias
from posenc.torch import attention, module

STOCK, OURS = "stock", "posenc, attention"
TOKENS = 1024


def t5() -> Any:
    """The encoder of T5-small."""
    sizes = {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "vocab_size": 1024}
    return transformers.T5EncoderModel(transformers.T5Config(**sizes))


def deberta() -> Any:
    """DeBERTa-v3-small."""
    sizes = {
        "hidden_size": 768,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "vocab_size": 1024,
        "relative_attention": True,
        "position_buckets": 256,
        "max_relative_positions": -1,
        "max_position_embeddings": 512,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
    }
    return transformers.DebertaV2Model(transformers.DebertaV2Config(**sizes))


def bloom() -> Any:
    return transformers.BloomModel(
        transformers.BloomConfig(hidden_size=512, n_layer=4, n_head=8, vocab_size=1024, use_cache=False)
    )


def mpt() -> Any:
    return transformers.MptModel(
        transformers.MptConfig(d_model=512, n_layers=4, n_heads=8, vocab_size=1024, max_seq_len=TOKENS, use_cache=False)
    )


def in_t5(model: Any) -> None:
    layers = [block.layer[0].SelfAttention for block in model.encoder.block]
    bias = module(T5Bias(heads=layers[0].n_heads))
    bias.table.data.copy_(layers[0].relative_attention_bias.weight.data)

    def forward(layer: Any, x: Any, **ignored: Any) -> Any:
        q, k, v = (each(x).view(*x.shape[:2], layer.n_heads, -1) for each in (layer.q, layer.k, layer.v))
        return layer.o(_attended(q, k, v, [bias], scale=1.0)), None, None

    _put(layers, forward)


def in_deberta(model: Any) -> None:
    layers = [layer.attention.self for layer in model.encoder.layer]
    config = model.config
    record = DeBERTa(
        dim=config.hidden_size // config.num_attention_heads,
        heads=config.num_attention_heads,
        buckets=config.position_buckets,
        max_distance=config.max_position_embeddings,
    )
    score = module(record)

    def forward(layer: Any, x: Any, mask: Any, *_: Any, rel_embeddings: Any = None, **ignored: Any) -> Any:
        q, k, v = (
            each(x).view(*x.shape[:2], record.heads, -1)
            for each in (layer.query_proj, layer.key_proj, layer.value_proj)
        )
        table = rel_embeddings[: 2 * record.buckets]
        for parameter, made in ((score.position_keys, layer.key_proj), (score.position_queries, layer.query_proj)):
            parameter.data = made(table).view(len(table), record.heads, -1).transpose(0, 1)
        return _attended(q, k, v, [score], scale=record.scale), None

    _put(layers, forward)


def in_bloom(model: Any) -> None:
    bias = module(ALiBi(heads=model.config.n_head))

    def forward(layer: Any, x: Any, residual: Any, *_: Any, **ignored: Any) -> Any:
        q, k, v = layer.query_key_value(x).view(*x.shape[:2], layer.num_heads, 3, -1).unbind(3)
        return layer.dense(_attended(q, k, v, [bias], causal=True)) + residual, None

    _put([block.self_attention for block in model.h], forward)


def in_mpt(model: Any) -> None:
    bias = module(ALiBi(heads=model.config.n_heads))

    def forward(layer: Any, x: Any, *_: Any, **ignored: Any) -> Any:
        q, k, v = (each.view(*x.shape[:2], layer.n_heads, -1) for each in layer.Wqkv(x).chunk(3, 2))
        return layer.out_proj(_attended(q, k, v, [bias], causal=True, scale=layer.softmax_scale)), None

    _put([block.attn for block in model.blocks], forward)


def _attended(q: Any, k: Any, v: Any, encodings: Any, **more: Any) -> Any:
    place = torch.arange(q.shape[1])
    output = attention(q, k, v, query=place, key=place, encodings=encodings, layout="bthd", **more)
    return output.reshape(*q.shape[:2], -1)


def _put(layers: list[Any], forward: Callable[..., Any]) -> None:
    for layer in layers:
        layer.forward = MethodType(forward, layer)


MODELS = {
    "T5-small, encoder": (t5, in_t5),
    "DeBERTa-v3-small": (deberta, in_deberta),
    "BLOOM, 4 layers of 512": (bloom, in_bloom),
    "MPT, 4 layers of 512": (mpt, in_mpt),
}


def run() -> list[dict[str, Any]]:
    found = [case(name, *made) for name, made in MODELS.items()]
    return [*found, *(_tokens(one) for one in found)]


def case(name: str, made: Callable[[], Any], put: Callable[[Any], None]) -> dict[str, Any]:
    torch.manual_seed(0)
    model = made().eval()
    ours = deepcopy(model)
    put(ours)
    ids = torch.randint(3, 1024, (1, TOKENS), generator=torch.Generator().manual_seed(0))

    def step(model: Any) -> Any:
        with torch.no_grad():
            return model(input_ids=ids).last_hidden_state

    expected = step(model)
    # As many roundings as channels are summed, of numbers as large as the largest.
    bound = 64.0 * 2.0**-23 * (1.0 + expected.abs().max().item())
    variants = {STOCK: floor(lambda: step(model)), OURS: lambda: Variant(lambda: step(ours), lambda: step(ours))}
    return compared(f"{name}, {TOKENS} tokens, float32", STOCK, variants, expected, bound, rounds=5)


def _tokens(found: dict[str, Any]) -> dict[str, Any]:
    rates = {name: sorted(TOKENS / (1e-6 * one) for one in taken) for name, taken in found["microseconds"].items()}
    values = {name: round(each[len(each) // 2]) for name, each in rates.items()}
    return {"case": f"tokens a second: {found['case']}", "values": values, "left out": {}}
