"""Keys that a class does not read, types under another name, and types that are not known here: named, never hidden."""

from __future__ import annotations

from typing import Any

import pytest

from every import every
from posenc import Partial, RoPE
from posenc.diagnosis import diagnose
from posenc.models import (
    GGUFHead,
    Window,
    from_config,
    from_gguf,
    from_megatron,
    from_meta,
    to_config,
)

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 1e4}
MLA = {"hidden_size": 64, "num_attention_heads": 4, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 16}
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
BY_CLASS, BY_NONE = "is not read by its class", "is read by no class of transformers"
OMNI = {
    "model_type": "qwen3_omni_moe_text", "head_dim": 128, "hidden_size": 256, "num_attention_heads": 2,
    "num_hidden_layers": 2, "rope_theta": 1e6,
    "rope_scaling": {"interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default", "type": "default"},
}  # fmt: skip
#: Keys as released files have them, and what the notes say of those that go unread.
RELEASED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "Nemotron 3": (
        {"model_type": "nemotron_h", "hybrid_override_pattern": "ME*E", "rope_theta": 1e4,
         "partial_rotary_factor": 1.0},
        (f"rope_theta = 10000.0 {BY_CLASS}", f"partial_rotary_factor = 1.0 {BY_CLASS}"),
    ),
    "Kimi-Linear": (
        {"model_type": "kimi_linear", **MLA, "num_hidden_layers": 4, "mla_use_nope": True, "rope_theta": 1e4},
        (f"rope_theta = 10000.0 {BY_CLASS}",),
    ),
    "Qwen3-Omni": (OMNI, (f"rope_scaling.interleaved = True {BY_CLASS}",)),
    "Qwen3-VL": (
        {**OMNI, "model_type": "qwen3_vl_text",
         "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20]}},
        (f"rope_scaling.mrope_interleaved = True {BY_CLASS}",),
    ),
    "GLM-5": (
        {"model_type": "glm_moe_dsa", **MLA, "num_hidden_layers": 2, "rope_interleave": True},
        (f"rope_interleave = True {BY_CLASS}",),
    ),
    "Ring-2.5": (
        {"model_type": "bailing_hybrid", **MLA, "num_hidden_layers": 8, "rotary_type": "full-1d", "linear_rope": True},
        (f"rotary_type = 'full-1d' {BY_NONE}", f"linear_rope = True {BY_NONE}"),
    ),
    "Step-3.5-Flash": (
        {
            "model_type": "step3p5", "num_hidden_layers": 3, "num_nextn_predict_layers": 1,
            "layer_types": [FULL, SLIDING, SLIDING, SLIDING], "rope_theta": [5e6, 1e4, 1e4, 1e4],
            "yarn_only_types": [FULL],
        },
        (f"yarn_only_types = ['full_attention'] {BY_NONE}",),
    ),
    "MiniMax": (
        {"model_type": "minimax", "num_hidden_layers": 2, "head_dim": 128, "rotary_dim": 64, "attn_type_list": [0, 1]},
        (f"rotary_dim = 64 {BY_CLASS}", f"attn_type_list = [0, 1] {BY_NONE}"),
    ),
}  # fmt: skip


def notes(config: dict[str, Any], **options: Any) -> list[str]:
    found = from_config(config, **options)
    return [*found.notes, *(note for group in found.groups for note in group.notes)]


def test_a_released_file_is_read_and_says_which_keys_its_class_does_not_read():
    def check(name: str) -> None:
        file, expected = RELEASED[name]
        assert set(expected) <= set(notes(file))

    every(RELEASED, check)


def test_step_3_5_lists_layers_that_predict_further_tokens_behind_its_own():
    full, sliding = from_config(RELEASED["Step-3.5-Flash"][0]).groups
    assert (full.layers, sliding.layers) == ((0,), (1, 2))
    with pytest.raises(ValueError, match="layer_types must name a type for each of 3 layers"):
        from_config(RELEASED["Step-3.5-Flash"][0] | {"num_nextn_predict_layers": 2})


def test_older_names_of_layer_types_are_those_of_the_class():
    file = {"model_type": "nemotron_h", "layers_block_type": ["mamba", "moe", "attention"]}
    assert [group.attention for group in from_config(file).groups] == [LINEAR, "moe", FULL]


def test_a_type_under_another_name_is_read_as_what_it_is_and_says_so():
    file = {**MLA, "num_hidden_layers": 2, "rope_theta": 5e4}
    found = from_config({"model_type": "kimi_k2", **file})
    assert found.groups == from_config({"model_type": "deepseek_v3", **file}).groups
    assert found.notes == ("model_type = 'kimi_k2' is deepseek_v3 under another name, and read so",)
    whole = {"model_type": "kimi_k25", "text_config": {"model_type": "kimi_k2", **file}, "vision_config": {}}
    assert [group.encodings for group in from_config(whole).of("text")] == [found.groups[0].encodings]
    assert "text_config.model_type = 'kimi_k2' is deepseek_v3 under another name, and read so" in notes(whole)


def test_keys_that_the_class_does_not_read_are_not_compared_where_files_differ_in_them():
    assert str(diagnose(LLAMA, LLAMA | {"rope_style": 1}).not_compared[0]).startswith(f"rope_style = 1 {BY_NONE}")
    idle = LLAMA | {"partial_rotary_factor": 0.5}
    assert diagnose(LLAMA, idle).not_compared == (
        f"partial_rotary_factor = 0.5 {BY_CLASS}; others may (the second alone)",
    )
    assert not diagnose(idle, idle).not_compared
    assert f"partial_rotary_factor = 0.5 {BY_CLASS}" in notes(LLAMA | {"partial_rotary_factor": 0.5})


def test_a_key_inside_rope_parameters_that_the_class_does_not_read_changes_nothing():
    def check(key: str) -> None:
        scaling = {"rope_type": "dynamic", "factor": 4.0, key: 8.0}
        found = from_config(LLAMA | {"rope_scaling": scaling})
        assert (
            found.groups[0].encodings
            == from_config(LLAMA | {"rope_scaling": {**scaling, key: None}}).groups[0].encodings
        )
        assert found.groups[0].query_temperature is None
        assert any(
            note.startswith(f"rope_scaling.{key} = 8.0 is ") for note in notes(LLAMA | {"rope_scaling": scaling})
        )
        assert key not in to_config(found, LLAMA)["rope_parameters"]

    every(["alpha", "llama_4_scaling_beta", "attn_factor"], check)


UNKNOWN = {**LLAMA, "model_type": "minimax_text_01", "head_dim": 16, "rotary_style": "new", "attn_type_list": [0, 1]}


def test_an_unknown_type_is_refused_once_with_all_that_it_needs():
    with pytest.raises(
        ValueError,
        match=r"'halves'} or 'adjacent'; if its .*\. attn_type_list looks like a schedule .* state layer_t",
    ):
        from_config(UNKNOWN)
    found = from_config(UNKNOWN, stated={"pairing": "halves", "layer_types": [LINEAR, FULL]})
    assert {group.attention: group.encodings for group in found.groups} == {
        LINEAR: (),
        FULL: (RoPE(16, 1e4, "halves"),),
    }
    assert "rotary_style = 'new' is not read: what minimax_text_01 does with it is not known here" in found.not_read


def test_a_schedule_of_an_unknown_type_is_never_hidden():
    found = from_config(UNKNOWN, stated={"pairing": "halves"})
    told = next(note for note in found.not_read if "attn_type_list = [0, 1]" in note)
    assert "which of them rotate, is not known here" in told
    assert "all layers are taken to rotate; state layer_types" in told


def test_what_is_stated_and_nothing_reads_is_refused():
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    meta = {"dim": 64, "n_layers": 2, "n_heads": 4, "rope_theta": 1e4}
    megatron = {"num_layers": 2, "kv_channels": 16, "position_embedding_type": "rope"}
    head = GGUFHead({"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 64,
                     "llama.attention.head_count": 4, "llama.context_length": 64}, (), {})  # fmt: skip

    def check(name: str) -> None:
        key, read = cases[name]
        with pytest.raises(ValueError, match=rf"^stated must hold keys that are read; got '{key}', which nothing"):
            read({key: 8.0})

    cases: dict[str, tuple[str, Any]] = {
        "a slip": ("rope_thetta", lambda stated: from_config(LLAMA, stated=stated)),
        "inside an object": ("factor", lambda stated: from_config(LLAMA | linear, stated=stated)),
        "not of the class": ("rope_local_base_freq", lambda stated: from_config(LLAMA, stated=stated)),
        "a known pairing": ("pairing", lambda stated: from_config(LLAMA, stated=stated)),
        "Meta": ("rope_tetha", lambda stated: from_meta(meta, stated=stated)),
        "Megatron": ("rotary_bse", lambda stated: from_megatron(megatron, stated=stated)),
        "GGUF": ("rope.freq_bse", lambda stated: from_gguf(head, stated=stated)),
    }
    every(cases, check)


def test_a_key_that_counts_for_the_parts_of_a_model_can_be_stated():
    file = {"model_type": "blt", "encoder_config": {"model_type": "blt_local_encoder", "num_hidden_layers": 1}}
    found = from_config(file, stated={"local_attention_window_len": 9}, waive=["decoder_config", "global_config"])
    assert {group.window for group in found.groups if group.window} == {Window(8)}


def test_layers_of_glm_4_7_flash_rotate_no_share_of_what_rotates():
    file = {"model_type": "glm4_moe_lite", **MLA, "num_hidden_layers": 2}
    assert from_config(file | {"partial_rotary_factor": 1.0}).groups[0].rotary_encoding is not None
    with pytest.raises(ValueError, match=r"^partial_rotary_factor must be left out where qk_rope_head_dim"):
        from_config(file | {"partial_rotary_factor": 0.5})


def test_a_share_that_mellum_and_mimo_rotate_counts_at_the_default_type():
    def widths(model_type: str, **rope: Any) -> list[int]:
        objects = {name: {"rope_type": "default", "rope_theta": 1e4, **rope} for name in (FULL, SLIDING)}
        config = {**LLAMA, "model_type": model_type, "head_dim": 64, "rope_parameters": objects}
        encodings = [group.rotary_encoding for group in from_config(config).groups]
        return [one.encoding.dim if isinstance(one, Partial) else 64 for one in encodings]

    assert set(widths("mellum", partial_rotary_factor=0.25)) == {16}
    assert set(widths("mimo_v2_flash", partial_rotary_factor=0.5)) == {32}
