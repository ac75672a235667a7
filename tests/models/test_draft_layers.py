"""Layers behind those of a model that draft further tokens: read from configs and GGUF files, in manifest and diff."""

from __future__ import annotations

from typing import Any

import pytest

from posenc.models import ModelPositions, Window, diff, from_config, from_gguf, manifest, read_manifest
from posenc.models.formats.gguf_header import GGUFHead

TYPES = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]
STEP = {"model_type": "step3p5", "num_hidden_layers": 45, "num_nextn_predict_layers": 3, "layer_types": TYPES * 12,
        "rope_theta": [5e6, 1e4, 1e4, 1e4] * 12, "sliding_window": 512}  # fmt: skip
GLM = {"model_type": "glm4_moe", "head_dim": 128, "partial_rotary_factor": 0.5, "rope_theta": 1e6,
       "num_hidden_layers": 46, "num_nextn_predict_layers": 1}  # fmt: skip


def read(**keys: Any) -> ModelPositions:
    return from_config(keys)


def glm_gguf(**keys: Any) -> ModelPositions:
    sizes = {"block_count": 47, "nextn_predict_layers": 1, "context_length": 131_072, "embedding_length": 4096,
             "attention.head_count": 96, "attention.key_length": 128, "rope.dimension_count": 64,
             "rope.freq_base": 1e6}  # fmt: skip
    named = {f"glm4moe.{name}": value for name, value in {**sizes, **keys}.items()}
    return from_gguf(GGUFHead({"general.architecture": "glm4moe", **named}, (), {}))


def test_they_rotate_as_layers_of_their_type_do():
    (deepseek,) = read(model_type="deepseek_v3", num_hidden_layers=61, num_nextn_predict_layers=1).draft
    assert (deepseek.layers, deepseek.rotary_encoding.head_dim) == ((61,), 192)
    (step,) = from_config(STEP).draft
    assert (step.layers, step.rotary_encoding.base, step.window) == ((45, 46, 47), 1e4, Window(511))
    own = from_config({**STEP, "layer_types": (TYPES * 12)[:45], "mtp_layer_types": ["full_attention"] * 3})
    assert [group.rotary_encoding.base for group in own.draft] == [5e6]
    ratios = {"compress_ratios": [128, 128, 4, 0, 0], "num_hidden_layers": 4, "num_nextn_predict_layers": 1}
    (v4,) = read(model_type="deepseek_v4", **ratios).draft
    assert (v4.attention, v4.layers, v4.rotary_encoding.encoding.base) == ("sliding_attention", (4,), 1e4)


def test_a_file_that_states_none_has_none_and_one_that_does_not_say_their_type_is_noted():
    assert read(model_type="deepseek_v3").draft == ()
    assert read(model_type="deepseek_v3", num_nextn_predict_layers=0).draft == ()
    hybrid = read(model_type="bailing_hybrid", num_nextn_predict_layers=1)
    assert hybrid.draft == ()
    assert hybrid.not_read == (
        "num_nextn_predict_layers = 1: the file does not say what these layers do with positions",
    )


def test_they_are_in_no_fingerprint_and_in_the_manifest():
    with_draft, without = from_config(GLM), from_config({**GLM, "num_nextn_predict_layers": 0})
    made = manifest(with_draft)
    assert made.fingerprint == manifest(without).fingerprint
    assert made.parts == ("text", "draft")
    assert made.at(46, part="draft") == made.at(0)
    assert read_manifest(made.to_dict()) == made
    assert from_config(made.to_dict()) == with_draft
    assert "draft, full_attention, layer 46" in with_draft.explain()


def test_the_last_layers_of_a_gguf_file():
    found = glm_gguf()
    assert (found.groups[0].layers[-1], found.draft[0].layers, found.draft[0].part) == (45, (46,), "draft")
    assert diff(from_config(GLM), found).same
    with pytest.raises(ValueError, match="nextn_predict_layers must be an integer from 0 to 46; got 47"):
        glm_gguf(nextn_predict_layers=47)


def test_what_diff_says_of_them():
    other = {**STEP, "mtp_layer_types": ["full_attention"] * 3}
    found = diff(from_config(STEP), from_config(other))
    assert not found.same
    assert [part.where for part in found.parts] == ["draft, layers 45-47"]
    alone = diff(from_config({**GLM, "num_nextn_predict_layers": 0}), from_config(GLM))
    assert alone.same
    assert alone.notes == ("layer 46 of the second alone draft further tokens; the model runs without them",)
