"""Rotations of vision towers that have a named layout: the reader's encoding and the preset take the same positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from every import every
from posenc import axial
from posenc.diagnosis import diagnose
from posenc.models import from_config

#: A type of tower and its layout.
TOWERS = {
    "qwen2_vl_vision": "qwen2-vl-vision",
    "qwen2_5_vl_vision": "qwen2-vl-vision",
    "qwen3_vl_vision": "qwen2-vl-vision",
    "glm4v_vision": "qwen2-vl-vision",
    "ernie4_5_vl_moe_vision": "qwen2-vl-vision",
    "dinov3_vit": "dinov3",
    "eomt_dinov3": "dinov3",
    "sapiens2": "dinov3",
    "pixtral": "pixtral",
    "kimi_k25_vision": "kimi-vision",
    "step3p5_vision": "step3-vision",
    "inkling2_vision": "inkling2-vision",
    "llama4_vision_model": "inkling2-vision",
    "gemma4_vision": "gemma4-vision",
    "sam2_video": "sam2",
    "sam3_tracker_video": "sam2",
    "edgetam_video": "sam2",
    "sam3_vit_model": "sam2",
}
DINO: dict[str, Any] = {
    "model_type": "dinov3_vit", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 100.0
}  # fmt: skip


def tower(model_type: str) -> Any:
    """The group of a tower that rotates, at the defaults of its class."""
    groups = from_config({"model_type": model_type}).groups
    return next(group for group in groups if group.rotary_encoding is not None)


def test_the_preset_of_a_tower_takes_its_positions() -> None:
    def check(model_type: str) -> None:
        group = tower(model_type)
        encoding, base = group.rotary_encoding, group.value("rope_theta").value
        assert encoding == axial(TOWERS[model_type], dim=encoding.head_dim, base=base)

    every(TOWERS, check)


def test_towers_whose_first_coordinate_is_the_column_say_so() -> None:
    def check(model_type: str) -> None:
        assert any("the first coordinate of a position is the column" in note for note in tower(model_type).notes)

    every(("gemma4_vision", "sam2_video", "sam3_tracker_video", "edgetam_video", "sam3_vit_model"), check)


def test_frequencies_of_dinov3_are_compared_with_the_buffer_that_models_hold() -> None:
    per_turn = 100.0 ** -(np.arange(4) / 4)
    assert diagnose(DINO, {"inv_freq": per_turn}).agree
    assert [finding.name for finding in diagnose(DINO, {"inv_freq": per_turn**1.5}).findings] == ["base"]
    other = diagnose(DINO, DINO | {"rope_theta": 1000.0})
    assert [finding.sentence for finding in other.findings] == ["The base is 1000 where 100 is meant."]


def test_whole_turns_are_scaled_but_have_no_attention_factor() -> None:
    rope: dict[str, Any] = {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}
    config = {key: value for key, value in DINO.items() if key != "rope_theta"} | {"model_type": "eomt_dinov3"}
    (plain,) = from_config(config | {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}}).groups
    (halved,) = from_config(config | {"rope_parameters": rope}).groups
    assert np.array_equal(2 * halved.rotary_encoding.frequencies.radians(), plain.rotary_encoding.frequencies.radians())
    yarn = rope | {"rope_type": "yarn", "original_max_position_embeddings": 64}
    with pytest.raises(ValueError, match=r"rope_type must have no attention factor .*; got 1\.06931 of YaRN"):
        from_config(config | {"rope_parameters": yarn})
