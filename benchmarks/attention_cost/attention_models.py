"""Whole models whose positions act inside attention, with random weights: stock, and through `accelerate`.

The output is compared with the stock model's before anything is timed. Whole sequences alone, without a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
import transformers
from attention_cost.attention_model_lengths import OURS, STOCK
from measuring.measure import Variant, compared, floor

from posenc.transformers import accelerate

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


MODELS = {
    "T5-small, encoder": t5,
    "DeBERTa-v3-small": deberta,
    "BLOOM, 4 layers of 512": bloom,
    "MPT, 4 layers of 512": mpt,
}


def run() -> list[dict[str, Any]]:
    found = [case(name, made) for name, made in MODELS.items()]
    return [*found, *(_tokens(one) for one in found)]


def case(name: str, made: Callable[[], Any]) -> dict[str, Any]:
    torch.manual_seed(0)
    model = made().eval()
    ours = deepcopy(model)
    accelerate(ours)
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
