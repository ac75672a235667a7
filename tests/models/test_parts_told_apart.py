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


OMNI_TEXT = {"text_config": {"model_type": "qwen2_5_omni_text"}}


def omni(thinker: float, talker: float) -> Any:
    rates = ("thinker_config", OMNI_TEXT, thinker), ("talker_config", {}, talker)
    parts = {name: {**config, "position_id_per_seconds": rate} for name, config, rate in rates}
    return from_config({"model_type": "qwen2_5_omni", **parts}, waive=("token2wav_config",))


def test_two_parts_that_swap_a_value_that_no_encoding_holds_do_not_agree():
    assert len(omni(50, 100).idle) == 2
    missing = tuple(omni(50, 100).not_read)
    assert diff(omni(50, 100), omni(50.0, 100.0)).not_compared == missing
    assert len(diff(omni(50, 100), omni(100, 50)).not_compared) == len(missing) + 4
    assert len(diff(omni(50, 25), omni(25, 50)).not_compared) == len(missing) + 2


def test_a_text_part_states_what_its_own_file_and_an_older_flat_file_state():
    text = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "is_causal": False}
    nested = from_config({"model_type": "mllama", "text_config": text}, waive=("vision_config",))
    alone = from_config({"model_type": "mllama_text_model", **text})
    assert diff(nested, alone).not_compared == ("vision_config is waived (the first alone)",)
    thinker = {"model_type": "qwen2_5_omni_thinker", "position_id_per_seconds": 50}
    nested, flat = from_config({**thinker, **OMNI_TEXT}), from_config(thinker)
    assert nested.idle == flat.idle != ()


def test_an_unread_key_of_a_rotation_is_the_same_in_older_files():
    sizes = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    rope = {"rope_type": "linear", "factor": 2.0, "alpha": 3.0}
    older, newer = (from_config({**sizes, name: rope}) for name in ("rope_scaling", "rope_parameters"))
    assert older.idle
    assert diff(older, newer).not_compared == ()


def test_another_number_of_layers_of_one_of_two_towers_is_named():
    (finding,) = diagnose(CODEC, CODEC | {"num_hidden_layers": 24}).findings
    assert finding.name == "number of layers"
    assert finding.where == "audio"
