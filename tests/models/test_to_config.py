"""Encodings of every reader, written into a config that reads back as the same encodings."""

from __future__ import annotations

import pytest

from posenc import Partial, RoPE
from posenc.frequencies import Linear, Llama3, LongRoPE, YaRN
from posenc.models import GGUFHead, LayerGroup, ModelPositions, from_config, from_gguf, from_meta, to_config, to_gguf

BASE = {"hidden_size": 96, "num_attention_heads": 12, "num_hidden_layers": 4, "max_position_embeddings": 4096}
SCALINGS = [
    None,
    Linear(4.0),
    YaRN(4.0, 1024),
    YaRN(32.0, 4096, beta_fast=16.0, truncate=False),
    YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=0.707),
    YaRN(4.0, 1024, attention=1.5),
    Llama3(8.0, 2048),
    LongRoPE((1.0, 1.0, 1.5, 2.0), (1.0, 2.0, 4.0, 8.0), 1024, 4096, 4.0),
]


def of(encoding):
    return ModelPositions("mine", (LayerGroup("text", "full_attention", (0, 1, 2, 3), (encoding,)),))


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("older", [{"rope_theta": 1e4}, {"rope_parameters": {"rope_type": "linear", "factor": 2.0,
    "rope_theta": 3.0}},
                                   {"rope_theta": 5.0, "rope_scaling": {"type": "dynamic",
                                       "factor": 2.0}}])  # fmt: skip
def test_written_and_read_back(scaling, older):
    encoding = RoPE(dim=8, base=5e5, pairing="halves", scaling=scaling)
    made = to_config(of(encoding), {"model_type": "llama", **BASE, **older})
    assert from_config(made).groups[0].encodings == (encoding,)
    assert made["max_position_embeddings"] == 4096


def test_part_of_a_head_and_types_of_layers():
    partial = Partial(RoPE(dim=2, base=1e4, pairing="halves"), 8)
    made = to_config(of(partial), {"model_type": "stablelm", **BASE})
    assert made["rope_parameters"]["partial_rotary_factor"] == 0.25
    full, sliding = (RoPE(dim=8, base=base, pairing="halves") for base in (1e6, 2e4))
    groups = (
        LayerGroup("text", "sliding_attention", (0, 1, 3), (sliding,)),
        LayerGroup("text", "full_attention", (2,), (full,)),
    )
    types = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
    config = {"model_type": "gemma3_text", **BASE, "head_dim": 8, "query_pre_attn_scalar": 8, "layer_types": types}
    config |= {"rope_local_base_freq": 3.0}
    made = to_config(ModelPositions("mine", groups), config)
    assert made["rope_parameters"]["sliding_attention"]["rope_theta"] == 2e4
    assert {group.attention: group.encodings for group in from_config(made).groups} == {
        group.attention: group.encodings for group in groups
    }


def test_from_one_format_through_all_others():
    config = {"model_type": "qwen3", **BASE, "head_dim": 8, "rope_theta": 1e6}
    start = from_config(config)
    keys, tensors = to_gguf(start, "qwen3", context_length=4096)
    assert tensors == {}
    again = from_gguf(GGUFHead(keys, (), {}))
    assert from_config(to_config(again, {**config, "rope_theta": 7.0})).groups[0].encodings == start.groups[0].encodings


def test_what_the_class_cannot_say():
    meta = from_meta({"head_dim": 8, "n_layers": 4, "rope_theta": 5e5, "use_scaled_rope": False})  # adjacent
    with pytest.raises(
        ValueError,
        match=r"^positions must be those that a config of this model type can state; read .*halves.*adjacent",
    ):
        to_config(meta, {"model_type": "llama", **BASE})
    with pytest.raises(ValueError, match="positions must be those that a config of this model type can state"):
        to_config(of(RoPE(dim=16, pairing="halves")), {"model_type": "llama", **BASE})  # another width


MLA = {"model_type": "deepseek_v3", **BASE, "rope_theta": 1e4}
YARN = {
    "rope_type": "yarn",
    "factor": 40.0,
    "original_max_position_embeddings": 4096,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}


def test_the_share_of_a_head_is_left_out_where_the_class_states_a_width():
    """transformers would take the share of qk_rope_head_dim once more."""
    start = from_config({**MLA, "rope_scaling": YARN})
    made = to_config(start, MLA)
    assert "partial_rotary_factor" not in made["rope_parameters"]
    assert from_config(made).groups[0].encodings == start.groups[0].encodings
    stated = {"rope_parameters": {**YARN, "rope_theta": 1e4, "partial_rotary_factor": 0.5}}
    with pytest.raises(
        ValueError, match=r"^rope_parameters.partial_rotary_factor must be left out where qk_rope_head_dim"
    ):
        from_config({"model_type": "deepseek_v3", **BASE, **stated})


def test_a_trained_length_that_the_class_takes_beside_its_rope_parameters():
    """Phi-3's class has one of 4,096 by default, which wins over rope_parameters (`standardize_rope_params`)."""
    lists = {"short_factor": [1.0, 1.0, 1.0, 1.0], "long_factor": [1.0, 2.0, 4.0, 8.0]}
    config = {"model_type": "phi3", **BASE, "max_position_embeddings": 32768, "rope_theta": 1e4}
    for trained in (2048, 4096, 8192):
        scaling = LongRoPE(*map(tuple, lists.values()), trained, 32768, 32768 / trained)
        made = to_config(of(RoPE(dim=8, pairing="halves", scaling=scaling)), config)
        assert from_config(made).groups[0].encodings[0].scaling == scaling
        assert made.get("original_max_position_embeddings") == (None if trained == 4096 else trained)
        assert made["rope_parameters"]["original_max_position_embeddings"] == trained


def test_what_multiplies_queries_and_logits_is_written_or_refused():
    heads = {**BASE, "head_dim": 8}
    scaled = {"rope_parameters": {**YARN, "rope_theta": 1e6, "llama_4_scaling_beta": 0.1}}
    start = from_config({"model_type": "ministral3", **heads, **scaled})
    made = to_config(start, {"model_type": "ministral3", **heads})
    assert from_config(made).groups[0].query_temperature == start.groups[0].query_temperature
    with pytest.raises(ValueError, match="positions must be those that a config of this model type can state"):
        to_config(start, {"model_type": "llama", **heads, "rope_theta": 1e4})
    sharper = from_config({**MLA, "rope_scaling": YARN}).groups[0]
    softer = LayerGroup("text", "full_attention", sharper.layers, sharper.encodings, logit_factor=1.25)
    with pytest.raises(ValueError, match="positions must be those that a config of this model type can state"):
        to_config(ModelPositions("mine", (softer,)), MLA)
