"""Which keys a query sees: read from configs, told apart by diff and the doctor, and left open where no format says."""

from __future__ import annotations

from typing import Any

import pytest

from every import every
from posenc.diagnosis import diagnose
from posenc.models import Chunks, LayerGroup, ModelPositions, Window, diff, fingerprint, from_config

SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6, "head_dim": 16}
#: Configs, and the window of each kind of layer in them.
READ: list[tuple[dict[str, Any], dict[str, Window | Chunks | None]]] = [
    ({"model_type": "mistral", "sliding_window": 4096}, {"full_attention": Window(4095)}),
    ({"model_type": "mistral", "sliding_window": None}, {"full_attention": None}),
    ({"model_type": "mistral", "sliding_window": 4096, "is_causal": True}, {"full_attention": Window(4095)}),
    ({"model_type": "mistral", "sliding_window": 4096, "is_causal": False}, {"full_attention": Window(4096, 4096)}),
    (
        {"model_type": "mimo_v2_flash", "head_dim": 192, "sliding_window_size": 8, "is_causal": False},
        {"full_attention": None, "sliding_attention": Window(9, 9)},
    ),
    (
        {"model_type": "dots3_note_text", "sliding_window_size": 8, "is_causal": False},
        {"indexed_attention": None, "sliding_attention": Window(8, 8)},
    ),
    ({"model_type": "llama"}, {"full_attention": None}),
    ({"model_type": "gpt_oss"}, {"sliding_attention": Window(127), "full_attention": None}),
    (
        {"model_type": "gemma3_text", "sliding_window": 512},
        {"sliding_attention": Window(511), "full_attention": None},
    ),
    (
        {"model_type": "gemma3_text", "sliding_window": 512, "use_bidirectional_attention": True},
        {"sliding_attention": Window(256, 256), "full_attention": None},
    ),
    *(
        (
            {"model_type": model_type, "sliding_window": 512, "use_bidirectional_attention": both, "head_dim": 256},
            {"sliding_attention": window, "full_attention": None},
        )
        for model_type in ("gemma4_text", "gemma4_unified_text", "diffusion_gemma_text")
        for both, window in (("all", Window(257, 257)), ("vision", Window(511)))
    ),
    ({"model_type": "modernbert"}, {"full_attention": None, "sliding_attention": Window(64, 64)}),
    ({"model_type": "t5gemma2_text", "sliding_window": 9}, {"sliding_attention": Window(4, 4), "full_attention": None}),
    ({"model_type": "llama4_text"}, {"chunked_attention": Chunks(8192), "full_attention": None}),
    ({"model_type": "qwen3_moe", "sliding_window": 4096}, {"full_attention": None}),
    (
        {"model_type": "ultrabert", "attention_windows": [0, 96, 96, 0, 96, 96]},
        {"full_attention": None, "sliding_attention": Window(96, 96)},
    ),
    ({"model_type": "recurrent_gemma"}, {"recurrent": None, "full_attention": Window(2047)}),
]


@pytest.mark.parametrize(("config", "windows"), READ, ids=lambda value: value.get("model_type", ""))
def test_a_window_is_read(config: dict[str, Any], windows: dict[str, Window | Chunks | None]) -> None:
    groups = from_config({**SIZES, **config}).groups
    assert {group.attention: group.window for group in groups} == windows


def test_a_list_of_windows_says_which_layers_slide() -> None:
    groups = from_config({**SIZES, "model_type": "ultrabert", "attention_windows": [0, 96, 96, 0, 96, 96]}).groups
    assert {group.attention: group.layers for group in groups} == {
        "full_attention": (0, 3),
        "sliding_attention": (1, 2, 4, 5),
    }


def test_where_a_window_comes_from_is_said() -> None:
    group = from_config({**SIZES, "model_type": "mistral", "sliding_window": 4096}).groups[0]
    assert group.value("sliding_window").source == "file"
    assert "queries see keys up to 4,095 positions before the query" in group.explain()


def test_other_windows_are_another_model_with_the_same_positions() -> None:
    wide, narrow, none = (
        from_config({**SIZES, "model_type": "mistral", "sliding_window": size}) for size in (4096, 1024, None)
    )
    assert fingerprint(wide) == fingerprint(narrow) == fingerprint(none)
    assert not diff(wide, narrow).same
    assert [(field.name, field.first[:15]) for field in diff(wide, narrow).parts[0].fields] == [
        ("window", "keys up to 4,09")
    ]
    verdict = diagnose(wide, none)
    assert not verdict.agree
    assert [finding.name for finding in verdict.findings] == ["window"]
    assert "Queries see all keys where keys up to 4,095" in verdict.findings[0].sentence


def test_a_format_that_does_not_say_its_windows_is_not_held_to_them() -> None:
    said = from_config({**SIZES, "model_type": "mistral", "sliding_window": 4096})
    silent = ModelPositions("x", tuple(LayerGroup(g.part, g.attention, g.layers, g.encodings) for g in said.groups))
    assert diff(said, silent).same
    assert diagnose(said, silent).agree


def test_exchanged_layers_are_one_mistake_with_their_windows() -> None:
    base = {**SIZES, "model_type": "gemma3_text", "rope_theta": 1e6, "rope_local_base_freq": 1e4}
    types = ["sliding_attention", "full_attention"] * 3
    meant, found = (from_config({**base, "layer_types": own}) for own in (types, types[::-1]))
    assert [finding.name for finding in diagnose(meant, found).findings] == ["local and global exchanged"]


#: Keys of known types and of others by which an unknown type may say what its layers see, or which attend.
MAY_SAY: dict[str, Any] = {
    "sliding_window": 4096,
    "sliding_window_size": 128,
    "sliding_windows": [[4, 4]] * 6,
    "sliding_window_pattern": 6,
    "use_sliding_window": True,
    "max_window_layers": 3,
    "attention_window": [512] * 6,
    "attention_chunk_size": 8192,
    "swa_layers": [0, 2],
    "local_attention": 128,
    "global_attn_every_n_layers": 3,
    "block_size": 64,
    "attention_types": [[["global", "local"], 3]],
    "attention_layers": ["global", "local"] * 3,
    "attn_type_list": [0, 0, 0, 1, 0, 0],
    "layer_types": ["sliding_attention", "full_attention"] * 3,
    "layers_block_type": ["attention", "mamba"] * 3,
    "block_types": ["recurrent", "attention"],
    "full_attn_idxs": [1, 3],
    "full_attention_interval": 4,
    "attn_layer_period": 8,
    "hybrid_override_pattern": "M*M*M*",
    "linear_attn_config": {"full_attn_layers": [4]},
    "dual_chunk_attention_config": {"chunk_size": 4096},
    "layer_group_size": 5,
    "cross_attention_layers": [3],
}
UNKNOWN = {**SIZES, "model_type": "mine", "rope_theta": 1e4}


def test_windows_of_an_unknown_type_are_not_known() -> None:
    def check(key: str) -> None:
        found = from_config({**UNKNOWN, key: MAY_SAY[key]}, stated={"pairing": "halves"})
        (note,) = found.not_read
        assert not found.windows_known
        assert f": {key} = " in note
        assert "is not read" in note
        assert {group.window for group in found.groups} == {None}

    every(MAY_SAY, check)


def test_an_unknown_type_without_such_keys_may_still_have_windows() -> None:
    nothing = {"sliding_window": None, "use_sliding_window": False, "layer_types": ["full_attention"] * 6}
    for keys in ({}, nothing, {"mlp_layer_types": ["dense"] * 6, "chunk_size_feed_forward": 8}):
        found = from_config({**UNKNOWN, **keys}, stated={"pairing": "halves"})
        assert not found.windows_known
        assert found.not_read == ("what layers of mine see is not known here; compare windows by hand",)
    assert from_config({**SIZES, "model_type": "llama", "block_size": 64}).windows_known


def test_an_unknown_part_leaves_the_windows_of_the_whole_open() -> None:
    text = {**UNKNOWN, "sliding_window": 9, "attention_chunk_size": 8}
    found = from_config(
        {"model_type": "llava", "text_config": text}, stated={"pairing": "halves"}, waive=["vision_config"]
    )
    assert not found.windows_known
    assert "text_config.sliding_window = 9, text_config.attention_chunk_size = 8 are not read" in found.notes[-2]


def test_windows_of_an_unknown_type_are_not_compared() -> None:
    file = {**UNKNOWN, "sliding_window": 4096}
    unknown = from_config(file, stated={"pairing": "halves"})
    known = from_config({**file, "model_type": "mistral"})
    said = diff(known, unknown).not_compared
    assert any("keys up to 4,095 positions before the query" in line for line in said)
    assert any("sliding_window = 4096 is not read" in line for line in said)
    assert not diagnose(known, unknown).findings


def test_a_word_with_a_letter_for_each_layer_is_a_schedule() -> None:
    def note_on(**keys: object) -> str:
        (note,) = from_config({**UNKNOWN, **keys}, stated={"pairing": "halves"}).not_read
        return str(note)

    for keys in ({"block_pattern": "MA"}, {"hybrid_layers": "M" * (UNKNOWN["num_hidden_layers"] - 1) + "*"}):
        assert "which of them rotate, is not known here" in note_on(**keys)
    assert "which of them rotate" not in note_on(block_pattern="AA")


def test_stated_types_of_layers_are_not_said_to_go_unread() -> None:
    layers = UNKNOWN["num_hidden_layers"]
    types = ["linear_attention"] * (layers - 1) + ["full_attention"]
    found = from_config(
        {**UNKNOWN, "attn_type_list": [0] * (layers - 1) + [1]}, stated={"pairing": "halves", "layer_types": types}
    )
    assert [group.layers[-1] for group in found.groups] == [layers - 2, layers - 1]
    (note,) = found.not_read
    assert "attn_type_list" in note
    assert "layer_types" not in note
