"""Rotations of vision towers that have a named layout: the reader's encoding and the preset take the same positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from every import every
from posenc import axial
from posenc.diagnosis import diagnose
from posenc.models import diff, from_config

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


def test_towers_that_count_patches_alike_rotate_alike_and_others_differ() -> None:
    one, other = (from_config({"model_type": name}) for name in ("muse_glimmer_vision", "qwen2_5_vl_vision"))
    group = next(group for group in one.groups if group.rotary_encoding is not None)
    assert group.positions(1, 2).tolist() == [[1, 1], [2, 1]]
    assert any(field.name == "patches" for part in diff(one, other).parts for field in part.fields)
    squares, rows = (
        from_config({"model_type": "qwen2_vl_vision", "spatial_merge_size": side, "num_heads": 16}) for side in (2, 1)
    )
    assert [field.line() for field in diff(squares, rows).parts[0].fields] == [
        "patches: row and column, from 0, in squares of 2 × 2 and row and column, from 0"
    ]
    assert [finding.name for finding in diagnose(squares, rows).findings] == ["patches"]


def test_frames_follow_one_another() -> None:
    video = tower("minimax_m3_vl_vision").positions(2, 2, frames=2)
    assert video[:, 0].tolist() == [0] * 4 + [1] * 4
    assert np.array_equal(video[:4, 1:], video[4:, 1:])
    assert len(tower("qwen2_vl_vision").positions(2, 4, frames=3)) == 24


@pytest.mark.parametrize(("name", "sides", "tokens"), [("molmo2_vision", (2, 2), 4), ("clip_vision_model", (7, 7), 50)])
def test_each_frame_is_counted_as_an_image(name: str, sides: tuple[int, int], tokens: int) -> None:
    """Towers of images take a video's frames one by one, each from the first row of the table, with its class token."""
    group = next(group for group in from_config({"model_type": name}).groups if group.patches)
    image, video = group.positions(*sides), group.positions(*sides, frames=3)
    assert len(image) == tokens
    assert np.array_equal(video, np.concatenate([image] * 3))


@pytest.mark.parametrize(
    ("model_type", "arguments", "message"),
    [
        ("qwen2_vl_vision", {"height": 3, "width": 4}, "^height must be a multiple of merge=2; got 3. Pad the patches"),
        ("qwen2_vl_vision", {"height": 2, "width": 4, "merge": 1}, "^merge must be that of the config, 2; got 1"),
        ("video_llama_3_vision", {"height": 2, "width": 4}, "^merge must be given, since this tower takes it for each"),
        ("eomt", {"height": 2, "width": 4}, r"^height and width must be \(40, 40\), the only grid of this tower's"),
        ("llama", {"height": 2, "width": 4}, "^height and width must be those of patches .* a group of text, full_att"),
        ("dinov3_vit", {"height": 0, "width": 4}, "^height must be an integer from 1"),
        ("dinov3_vit", {"height": 2, "width": 4, "frames": 0}, "^frames must be an integer from 1"),
    ],
)
def test_images_that_a_tower_does_not_take(model_type: str, arguments: dict[str, int], message: str) -> None:
    group = next(group for group in from_config({"model_type": model_type}).groups if group.encodings)
    with pytest.raises(ValueError, match=message):
        group.positions(**arguments)


def test_layers_of_sam3_that_are_listed_see_the_whole_image() -> None:
    config = {"model_type": "sam3_vit_model", "num_hidden_layers": 4, "global_attn_indexes": [1]}
    _, windows, whole = from_config(config).groups
    assert (windows.layers, whole.layers) == ((0, 2, 3), (1,))
    assert whole.positions(1, 48)[-1].tolist() == [23.5, 0.0]
    assert windows.positions(24, 24)[-1].tolist() == [23, 23]
    with pytest.raises(ValueError, match=r"^global_attn_indexes must list numbers of layers; got"):
        from_config(config | {"global_attn_indexes": [-1]})


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


def test_layers_that_see_the_whole_image_are_compared_layer_by_layer() -> None:
    config = {"model_type": "sam3_vit_model", "num_hidden_layers": 4}
    one, other = (from_config({**config, "global_attn_indexes": whole}) for whole in ([1, 3], [1]))
    found = diff(one, other)
    assert not found.same, found
    assert [part.where for part in found.parts] == ["vision, layer 3"]
