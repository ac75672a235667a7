"""Keys of published files that say what a model does anyway are read over; other values of them are refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from posenc.models import from_config

SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
#: Keys on positions as published files have them, by model type: each with another value that must be refused.
FILES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "SmolLM2": ({"model_type": "llama", "rope_interleaved": False, "rope_theta": 1.3e5}, {"rope_interleaved": True}),
    "GPT-J-6B": ({"model_type": "gptj", "rotary": True, "rotary_dim": 16}, {"rotary": False}),
    "ModernBERT": (
        {"model_type": "modernbert", "position_embedding_type": "absolute"},
        {"position_embedding_type": "relative_key"},
    ),
    "Command-R7B": (
        {"model_type": "cohere2", "rope_gptj": True, "rotary_pct": 1.0, "position_embedding_type": "rope_gptj"},
        {"rope_gptj": False, "rotary_pct": 0.5, "position_embedding_type": "alibi"},
    ),
    "LFM2": (
        {"model_type": "lfm2", "theta": 1e6, "rope_theta": 1e6, "use_pos_enc": True, "full_attn_idxs": [1]},
        {"use_pos_enc": False},
    ),
    "HunYuan": (
        {"model_type": "hunyuan_v1_dense", "use_rotary_pos_emb": True, "position_embedding_xdrope": False},
        {"use_rotary_pos_emb": False, "position_embedding_xdrope": True},
    ),
    "StableLM": (
        {"model_type": "stablelm", "rope_pct": 0.25, "partial_rotary_factor": 0.25, "rotary_scaling_factor": 1.0},
        {"rope_pct": 0.5, "rotary_scaling_factor": 2.0},
    ),
    "Nemotron": (
        {"model_type": "nemotron", "rotary_percent": 0.5, "partial_rotary_factor": 0.5},
        {"rotary_percent": 0.25},
    ),
    "nomic-embed-text": (
        {
            "model_type": "nomic_bert",
            "rotary_emb_base": 1000,
            "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": False,
            "rotary_emb_scale_base": None,
            "rotary_scaling_factor": None,
            "max_trained_positions": 2048,
        },
        {"rotary_emb_base": 10_000, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": True},
    ),
    "MiMo-V2-Flash": (
        {"model_type": "mimo_v2_flash", "rope_theta": 5_000_000, "swa_rope_theta": 10_000},
        {"swa_rope_theta": 20_000},
    ),
    "MiMo-7B": ({"model_type": "qwen2", "rope_theta": 640_000, "use_mrope": False}, {"use_mrope": True}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_published_file_is_read(name: str):
    file, _ = FILES[name]
    assert any(group.rotary_encoding for group in from_config({**SIZES, **file}).groups)


@pytest.mark.parametrize("name", FILES)
def test_another_value_is_refused_and_its_advice_works(name: str):
    file, others = FILES[name]
    for key, value in others.items():
        changed = {**SIZES, **file, key: value}
        with pytest.raises(ValueError, match=f"{key} must be understood.* its value {value!r} .* it can be") as refusal:
            from_config(changed)
        advice = re.search(r"waive=\(([^)]*)\)", str(refusal.value))
        assert advice is not None
        waive = re.findall(r"'([^']+)'", advice[1])
        read = from_config(changed, waive=waive)
        assert read.groups == from_config({**SIZES, **file}, waive=waive).groups
        assert any(note.startswith(f"{key} = {value!r}") for note in read.waived)


def test_bloom_is_read_whatever_offset_it_states():
    assert from_config({"model_type": "bloom", **SIZES, "offset_alibi": 100}).groups


@pytest.mark.parametrize("model_type", ["exaone4", "kolibri1"])
def test_a_null_window_is_none_and_every_layer_rotates(model_type: str):
    types = ["full_attention"] * 2
    config = {"model_type": model_type, **SIZES, "sliding_window": None, "layer_types": types}
    assert [group.rotary_encoding is not None for group in from_config(config).groups] == [True]


def test_cross_attention_does_not_rotate():
    config = {"model_type": "mllama_text_model", **SIZES, "cross_attention_layers": [1]}
    kinds = {layer: group.rotary_encoding is not None for group in from_config(config).groups for layer in group.layers}
    assert kinds == {0: True, 1: False}


def test_dbrx_states_its_base_inside_attn_config():
    (group,) = from_config({"model_type": "dbrx", **SIZES, "attn_config": {"rope_theta": 500_000}}).groups
    assert str(group.value("rope_theta")) == "rope_theta = 500000 (file: attn_config.rope_theta)"


def test_layers_with_heads_of_their_own_are_groups_of_their_own():
    """Saved configs pad the numbers of layers with zeros."""
    config = {"model_type": "gemma4_text", **SIZES, "num_hidden_layers": 12}
    config |= {"per_layer_config": {"05": {"head_dim": 128}, "11": {"head_dim": 64}}}
    found = {group.layers: group.rotary_encoding.head_dim for group in from_config(config).groups}
    assert (found[5,], found[11,]) == (128, 64)


def test_a_key_that_the_class_ignores_is_noted():
    read = from_config({"model_type": "mellum", "rope_theta": 4321.0})
    assert read.notes == ("rope_theta = 4321.0 is not read by its class",)
    assert all(group.rotary_encoding.base != 4321.0 for group in read.groups)
