"""Captures of models with tables, of models built otherwise than is meant, and of numbers that are not finite."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from posenc.diagnosis import diagnose
from posenc.models import from_config
from posenc.transformers import capture

GPT2 = {"model_type": "gpt2", "n_positions": 64, "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 64}
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 64,
         "intermediate_size": 64, "rope_theta": 10_000.0}  # fmt: skip
MPT = {"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 64, "max_seq_len": 64}
TOKENS = torch.arange(32)[None] + 2


def built(config: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(**config)).eval()


@pytest.mark.parametrize("keys", [{}, {"scale_attn_weights": False}, {"scale_attn_by_inverse_layer_idx": True}])
def test_the_scale_of_gpt2_follows_its_keys(keys: dict[str, Any]) -> None:
    config = GPT2 | keys
    assert diagnose(config, capture(built(config), TOKENS)).agree
    wrong = built(config)
    for block in wrong.h:
        block.attn.scaling *= 2
    assert "scale of the logits" in {finding.name for finding in diagnose(config, capture(wrong, TOKENS)).findings}


def live_factors(config: dict[str, Any]) -> list[float]:
    """What each layer of the live class multiplies q·k by, times the root of the width of its heads."""
    names = ("scaling", "scale_factor", "softmax_scale")
    found = []
    for part in built(config).modules():
        if type(part).__name__.endswith("Attention"):
            scale = next(getattr(part, name) for name in names if hasattr(part, name))
            found.append(float(scale) * math.sqrt(part.head_dim))
    return found


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        (GPT2, {"scale_attn_weights": False}),
        (GPT2, {"scale_attn_by_inverse_layer_idx": True}),
        (GPT2, {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}),
        (GPT2 | {"model_type": "gpt_bigcode"}, {"scale_attn_weights": False}),
        (MPT, {"attn_config": {"softmax_scale": 0.5}}),
    ],
)
def test_two_configs_with_other_scales_differ_as_their_models_do(config: dict[str, Any], keys: dict[str, Any]) -> None:
    for stated in (config, config | keys):
        groups = from_config(stated).groups
        factors = {layer: group.logit_factor for group in groups for layer in group.layers}
        assert [factors[layer] for layer in sorted(factors)] == pytest.approx(live_factors(stated))
    verdict = diagnose(config, config | keys)
    assert (verdict.agree, verdict.difference.same) == (False, False)
    assert "logit_factor: 1.0 and " in str(verdict.difference)


def test_a_class_that_divides_by_no_layer_has_no_other_scale_for_its_key() -> None:
    config = GPT2 | {"model_type": "gpt_bigcode"}
    assert diagnose(config, config | {"scale_attn_by_inverse_layer_idx": True}).agree


def test_a_model_built_from_another_config_is_named_by_the_field() -> None:
    (finding,) = diagnose(LLAMA, capture(built(LLAMA | {"rope_theta": 77_777.0}), TOKENS)).findings
    assert finding.name == "base"
    assert "77777" in finding.sentence


def test_a_difference_of_configs_that_a_run_does_not_show_is_noted() -> None:
    scaled = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
    verdict = diagnose(LLAMA, capture(built(LLAMA | {"rope_parameters": scaled}), TOKENS))
    assert verdict.agree
    assert any("this run does not show" in note for note in verdict.notes)


def test_frequencies_that_are_not_finite_are_told_from_weights_that_are_not() -> None:
    model = built(LLAMA)
    model.rotary_emb.inv_freq *= torch.nan
    (finding,) = diagnose(LLAMA, capture(model, TOKENS)).findings
    assert "frequencies, or cos and sin, are not finite" in finding.sentence
    model = built(LLAMA)
    model.embed_tokens.weight.data[5] = torch.nan
    (finding,) = diagnose(LLAMA, capture(model, TOKENS)).findings
    assert "first in layer 0" in finding.sentence
    padded = (TOKENS != 5).long()
    assert diagnose(LLAMA, capture(built(LLAMA), TOKENS, inputs={"attention_mask": padded})).agree
