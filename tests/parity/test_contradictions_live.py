"""Which of two contradicting values counts, and what a window that a class does not know does, in transformers."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from every import every
from models.test_contradictions import CONTRADICTING, LLAMA
from posenc.models import from_config

pytestmark = pytest.mark.parity


def test_the_value_that_counts_is_the_one_that_the_class_takes():
    transformers = pytest.importorskip("transformers")

    def check(name: str) -> None:
        config = CONTRADICTING[name][0]
        assert values(config) == values(transformers.AutoConfig.for_model(**copy.deepcopy(config)).to_dict())

    def values(config: dict[str, Any]) -> list[Any]:
        return [(group.layers, group.encodings, group.window) for group in from_config(config).groups]

    every(CONTRADICTING, check)


def test_a_cache_of_a_class_without_windows_drops_keys_that_one_pass_sees():
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokens = torch.arange(12)[None]

    def logits(**keys: Any) -> tuple[Any, Any]:
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            hidden_size=64, num_attention_heads=4, num_hidden_layers=2, intermediate_size=32, vocab_size=16, **keys
        )
        model = transformers.LlamaForCausalLM(config).eval()
        cache = transformers.DynamicCache(config=config)
        with torch.no_grad():
            steps = [model(tokens[:, i : i + 1], past_key_values=cache).logits for i in range(12)]
            return model(tokens, use_cache=False).logits, torch.cat(steps, dim=1)

    whole, decoded = logits()
    assert torch.allclose(whole, decoded, atol=1e-5)
    for key, drops in {"sliding_window": True, "attention_chunk_size": True, "attention_multiplier": False}.items():
        one_pass, steps = logits(**{key: 4})
        assert torch.equal(one_pass, whole)
        assert torch.allclose(steps, whole, atol=1e-5) is not drops
        assert ("all keys in one pass" in str(from_config(LLAMA | {key: 4}).notes)) is drops
