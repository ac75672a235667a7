"""Logits of a running model that are not q·k behind one mask: numbers that are added, and masks of single heads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, T5Config, T5Model

from posenc.diagnosis import diagnose
from posenc.transformers import capture

SIZES = {"vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
TOKENS = torch.randint(3, 64, (2, 24), generator=torch.Generator().manual_seed(0))
AT = torch.arange(24)


def built(model_type: str, attention: str, dtype: torch.dtype) -> tuple[dict[str, Any], Any]:
    torch.manual_seed(0)
    config = CONFIG_MAPPING[model_type](**SIZES)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention, dtype=dtype).eval()
    return json.loads(config.to_json_string()), model


def add_to_mask(model: Any, added: torch.Tensor) -> None:
    """Give layer 1 a causal mask of numbers, with others added to it."""
    causal = torch.where(AT[:, None] >= AT, 0.0, torch.finfo(model.dtype).min)

    def other(module: Any, arguments: Any, named: dict[str, Any]) -> Any:
        mask = (causal + added).clamp(min=torch.finfo(model.dtype).min).to(model.dtype)
        return arguments, {**named, "attention_mask": mask.expand(2, -1, -1, -1)}

    model.model.layers[1].self_attn.register_forward_pre_hook(other, with_kwargs=True)


def recency(heads: int) -> torch.Tensor:
    """A bias of distance, as a left-over ALiBi adds it."""
    return -0.1 * (AT[:, None] - AT).clamp(min=0).expand(1, heads, -1, -1)


def window_of_last_head(heads: int) -> torch.Tensor:
    hidden = (AT[:, None] - AT >= 5) & (torch.arange(heads) == heads - 1)[:, None, None]
    return torch.where(hidden, -torch.inf, 0.0)[None]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("added", "name"), [(recency, "bias added"), (window_of_last_head, "heads see other keys")])
def test_what_a_mask_adds_in_one_layer_is_found(
    attention: str, dtype: torch.dtype, added: Callable[[int], torch.Tensor], name: str
) -> None:
    config, model = built("llama", attention, dtype)
    found = diagnose(config, capture(model, TOKENS))
    assert found.agree, str(found)
    add_to_mask(model, torch.zeros(1, 4, 1, 1))
    found = diagnose(config, capture(model, TOKENS))
    assert found.agree, str(found)
    add_to_mask(model, added(4))
    found = diagnose(config, capture(model, TOKENS))
    assert [(one.name, one.where) for one in found.findings] == [(name, "layer 1")], str(found)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("times", [1.0, 0.0, 1.5])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_bias_of_t5_is_followed_into_each_layer(attention: str, dtype: torch.dtype, times: float, stack: str) -> None:
    """The first layer of a stack computes the bias; each of the others is given that of the layer before it."""
    torch.manual_seed(0)
    config = T5Config(vocab_size=64, d_model=64, num_heads=4, num_layers=3, d_kv=16, d_ff=64)
    model = T5Model._from_config(config, attn_implementation=attention, dtype=dtype).eval()
    for name, table in model.named_modules():
        if name.endswith("relative_attention_bias"):
            torch.nn.init.normal_(table.weight)
    layer = getattr(model, stack).block[1].layer[0].SelfAttention
    own = layer.forward

    def other(x: Any, mask: Any = None, key_value_states: Any = None, position_bias: Any = None, **named: Any) -> Any:
        return own(x, mask, key_value_states, position_bias * times, **named)

    layer.forward = other
    real = torch.ones_like(TOKENS)
    real[1, 20:] = 0
    for inputs, decoded in (({}, 0), ({"attention_mask": real}, 0), ({}, 3)):
        found = diagnose(json.loads(config.to_json_string()), capture(model, TOKENS, inputs=inputs, decoded=decoded))
        names = [(one.name, one.where) for one in found.findings]
        assert names == ([] if times == 1.0 else [("bias changed on its way", f"{stack}, layers 1-2")]), str(found)
