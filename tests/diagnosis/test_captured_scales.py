"""Captures of models with tables, of models built otherwise than is meant, and of numbers that are not finite."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from posenc.diagnosis import diagnose
from posenc.transformers import capture

GPT2 = {"model_type": "gpt2", "n_positions": 64, "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 64}
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 64,
         "intermediate_size": 64, "rope_theta": 10_000.0}  # fmt: skip
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
