"""Towers of one model that would have one name: each keeps a part of its own, and no layer stands for two."""

from __future__ import annotations

from typing import Any

import pytest

from posenc.diagnosis import diagnose
from posenc.models import diff, from_config
from posenc.models.difference import kind_of_group

OCR: dict[str, Any] = {
    "model_type": "deepseek_ocr2",
    "text_config": {"model_type": "deepseek_ocr2_text"},
    "vision_config": {
        "model_type": "deepseek_ocr2_vision",
        "encoder_config": {"model_type": "deepseek_ocr2_encoder"},
        "sam_config": {"model_type": "deepseek_ocr2_sam_vision_model"},
    },
}
CODEC: dict[str, Any] = {"model_type": "neucodec", "semantic_model_config": {"model_type": "wav2vec2-bert"}}
PARTS = {
    "deepseek_ocr2": (OCR, ("text", "vision text", "vision")),
    "neucodec": (CODEC, ("audio", "semantic model audio")),
    "xcodec2": (CODEC | {"model_type": "xcodec2"}, ("audio", "semantic model audio")),
}


@pytest.mark.parametrize(("config", "parts"), PARTS.values(), ids=PARTS)
def test_no_layer_stands_for_two_towers(config: dict[str, Any], parts: tuple[str, ...]):
    model = from_config(config)
    layers = [(group.part, kind_of_group(group), layer) for group in model.groups for layer in group.layers]
    assert tuple(model.parts) == parts
    assert len(layers) == len(set(layers))


def test_a_difference_in_either_tower_is_shown_with_its_layers():
    sam = OCR["vision_config"]["sam_config"] | {"window_size": 7}
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 777.0}}
    encoder = OCR["vision_config"]["encoder_config"] | rope
    for changed, said in (
        ({"sam_config": sam}, "vision, layers 0-1, 3-4, 6-7, 9-10:\n  size: (14, 14) and (7, 7)"),
        ({"encoder_config": encoder}, " and 777.0"),
    ):
        other = OCR | {"vision_config": OCR["vision_config"] | changed}
        difference = diff(from_config(OCR), from_config(other))
        assert difference.verdict == "differ"
        assert said in str(difference)


def test_another_number_of_layers_of_one_of_two_towers_is_named():
    (finding,) = diagnose(CODEC, CODEC | {"num_hidden_layers": 24}).findings
    assert finding.name == "number of layers"
    assert finding.where == "audio"
