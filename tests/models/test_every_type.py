"""Every config type of transformers has a state: it is read, encodes no positions, is made of parts, or is not read for
a reason."""

from __future__ import annotations

import json

import pytest

from posenc.models import from_config
from posenc.models.config.config_classes import config_classes
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.model_types.not_read import LEFT_OUT, NOT_READ, REASONS
from posenc.models.config.model_types.type_rows import MADE_OF_PARTS

#: Types whose own defaults cannot be read, and what the error says.
UNREAD = {
    "cohere_compass": "rope_parameters must hold an object or null",
    "edgetam": "'timm_wrapper'",
    "edgetam_vision_model": "'timm_wrapper'",
    "fast_vlm": "'timm_wrapper'",
    "fastspeech2_conformer_with_hifigan": "'fastspeech2_conformer'",
    "gemma4_assistant": "text_config.model_type must be known",  # its class cannot be made without a text_config
    "glm46v": "mrope_section must add up to 64",
    "glm4v": "mrope_section must add up to 64",
    "glm4v_moe": "partial_rotary_factor must leave an even number of channels of a head of 42",
    "glm_image": "mrope_section must add up to 64",
    "glmga": "mrope_section must add up to 64",
    "granite_speech": "'granite_speech_encoder'",
    "granite_speech5_ctc": "'granite_speech5_encoder'",
    "granite_speech_plus": "'granite_speech_plus_encoder'",
    "higgs_audio_v2_tokenizer": "'hubert'",
    "hunyuan_vl": "mrope_section must list the pairs of each axis",
    "inkling2": "'inkling2_text'",
    "inkling_mm_model": "'inkling_text'",
    "nemotron3_5_asr": "'nemotron_asr_streaming_encoder'",
    "nemotron_asr_streaming": "'nemotron_asr_streaming_encoder'",
    "nougat": "must have a config inside it",  # its class cannot be made without its parts
    "pe_audio_video": "'timm_wrapper'",
    "pe_video": "'timm_wrapper'",
    "perception_lm": "'timm_wrapper'",
    "qwen3_omni_moe": "head_dim must be divided evenly among the axes",
    "qwen3_omni_moe_thinker": "head_dim must be divided evenly among the axes",
    "sam2": "must have a part that is read",
    "sam2_vision_model": "must have a part that is read",
    "speech-encoder-decoder": "'wav2vec2'",
    "videoprism": "'videoprism_vision_model'",
    "xcodec": "'hubert'",
}


def test_every_type_has_one_state():
    states = [*MODEL_TYPES, *MADE_OF_PARTS]
    assert len(states) == len(set(states))
    assert set(states) == set(config_classes()), "add a row, or a name to MADE_OF_PARTS"


def test_what_is_made_of_parts_has_parts():
    assert not [name for name in MADE_OF_PARTS if not config_classes()[name].parts]


def test_a_type_that_is_not_read_says_why():
    for reason, names in REASONS.items():
        for name in names:
            with pytest.raises(ValueError, match="whose positions are read") as problem:
                from_config({"model_type": name})
            assert f"got {name!r}, which {reason}." in str(problem.value)
    assert not [name for row in NOT_READ for name in row.names if row.left_out and name not in LEFT_OUT]


def test_a_part_that_is_left_out_is_named():
    text = {"model_type": "gemma3n_text"}
    found = from_config({"model_type": "gemma3n", "text_config": text, "audio_config": {"model_type": "gemma3n_audio"}})
    assert found.parts == ("text",)
    assert any("audio_config is left out: gemma3n_audio scores sines" in note for note in found.notes)


def test_a_part_that_is_not_read_says_why():
    parts = {"text_config": {"model_type": "llama"}, "vision_config": {"model_type": "pvt"}}
    with pytest.raises(ValueError, match=r"'pvt' .*, which adds a table of patches in every stage") as problem:
        from_config({"model_type": "llava", **parts})
    assert "waive=('vision_config',)" in str(problem.value)
    assert from_config({"model_type": "llava", **parts}, waive=("vision_config",)).parts == ("text",)


def test_what_a_model_adds_to_its_parts_is_said():
    text, vision = {"model_type": "xclip_text_model"}, {"model_type": "xclip_vision_model"}
    found = from_config({"model_type": "xclip", "text_config": text, "vision_config": vision})
    assert found.parts == ("text", "vision")
    assert "every frame" in found.explain()


@pytest.mark.nightly
@pytest.mark.parity
def test_every_type_of_the_installed_transformers():
    """Its default config is read, or refused as it should be; none is without a state."""
    pytest.importorskip("transformers")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    from parity.test_models_beside import UNREAD as UNREAD_ROWS
    from write_model_classes import config_classes as installed

    classes = installed()
    assert not set(classes) - {*MODEL_TYPES, *MADE_OF_PARTS}
    # Three names of older code share the class of another type.
    assert set(CONFIG_MAPPING_NAMES) - set(classes) == {"EvollaModel", "gpt-sw3", "mlcd"}
    expected = {name: row.unsupported for name, row in MODEL_TYPES.items() if row.unsupported}
    expected |= UNREAD_ROWS | UNREAD
    refused = {}
    for name, kind in classes.items():
        try:
            config = json.loads(kind().to_json_string(use_diff=False))
        except Exception:  # made of parts that it does not know by itself
            config = {}
        try:
            from_config({**config, "model_type": name})
        except (ValueError, TypeError) as problem:
            refused[name] = str(problem)
    assert set(refused) == set(expected), {key: refused.get(key) for key in set(refused) ^ set(expected)}
    assert not {name: refused[name] for name, words in expected.items() if words not in refused[name]}
