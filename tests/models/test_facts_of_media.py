"""Windows and counts of media in configs: what is noted on them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from posenc.models import from_config, manifest
from posenc.models.notes import AsStated

QWEN = {"model_type": "qwen2_5_vl_vision"}
RF_DETR = {"model_type": "rf_detr_dinov2", "num_hidden_layers": 3}
SWIN = {"model_type": "swinv2", "window_size": 7, "pretrained_window_sizes": [6, 6, 6, 6]}
SAM = {"model_type": "sam_vision_model", "num_hidden_layers": 2, "global_attn_indexes": [1], "window_size": 14}
WINDOWS, WHOLE = "windows of patches", "attention over the whole image"
#: Configs, and what is noted.
NOTED: list[tuple[dict[str, Any], dict[str, str]]] = [
    (QWEN, {}),
    ({**QWEN, "tokens_per_second": 4.0}, {}),
    ({**QWEN, "tokens_per_second": 2.5}, {"tokens_per_second": "2.5"}),
    (RF_DETR, {WINDOWS: "4 × 4 for each image", WHOLE: "no layer"}),
    ({**RF_DETR, "out_features": ["stem", "stage2"]}, {WINDOWS: "4 × 4 for each image", WHOLE: "layers 0, 2"}),
    ({**RF_DETR, "out_indices": [1]}, {WINDOWS: "4 × 4 for each image", WHOLE: "layers 1-2"}),
    ({**RF_DETR, "num_windows": 1}, {}),
    ({"model_type": "siglip_vision_model", "num_attention_heads": 16}, {"num_attention_heads": "16"}),
    ({"model_type": "siglip_vision_model", "num_attention_heads": 12}, {}),
    ({"model_type": "whisper", "decoder_attention_heads": 8}, {"decoder_attention_heads": "8"}),
    ({"model_type": "gemma2"}, {}),
    ({"model_type": "gemma2", "attn_logit_softcapping": 50}, {}),
    ({"model_type": "gemma2", "attn_logit_softcapping": 30.0}, {"attn_logit_softcapping": "30"}),
    ({"model_type": "vaultgemma", "attn_logit_softcapping": None}, {"attn_logit_softcapping": "none"}),
    (SWIN, {}),
    ({**SWIN, "window_size": 14}, {"window_size": "14"}),
    ({**SWIN, "window_size": 14, "pretrained_window_sizes": [0, 0, 0, 0]}, {}),
    ({"model_type": "bert", "num_attention_heads": 16}, {}),
    (SAM, {}),
    ({**SAM, "use_rel_pos": False}, {WINDOWS: "14 × 14", WHOLE: "layer 1"}),
    ({"model_type": "clap_audio_model", "patch_stride": [4, 2]}, {"patch_stride": "4, 2"}),
    ({"model_type": "clap_audio_model", "patch_stride": [4, True, 1, 1.0]}, {"patch_stride": "4, True, 1 (2 times)"}),
    ({"model_type": "clap_audio_model", "patch_stride": [[4, 2], []]}, {"patch_stride": "(4, 2), (none)"}),
    ({"model_type": "clap_audio_model", "spec_size": 10**400}, {"spec_size": f"{10**400}"}),
    ({"model_type": "clap_audio_model", "spec_size": "wide"}, {"spec_size": "'wide'"}),
]  # fmt: skip


RECORDING = ("chunk_length", "chunk_left_context", "chunk_right_context", "fifo_length")
GROUPED = ("patch_size", "patching_threshold", "max_patch_length")
POOLED = tuple(f"{side}_aggregation_{size}" for side in ("q", "kv") for size in ("kernel_size", "stride"))
SOUND = ("position_id_per_seconds", "seconds_per_chunk")
#: Keys of whole numbers that are noted as they stand: of what type, beside what.
COUNTED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"model_type": "nemotron3_diarization", "audio_config": {}}, RECORDING),
    ({"model_type": "blt", "global_config": {}}, GROUPED),
    ({"model_type": "efficientloftr"}, POOLED),
    ({"model_type": "minicpm_ocr_vision"}, ("insert_layer_id",)),
    ({"model_type": "minicpmv4_6_vision"}, ("insert_layer_id",)),
    ({"model_type": "minicpmv4_7_vision"}, ("insert_layer_id",)),
    ({"model_type": "qwen2_5_omni_thinker"}, SOUND),
    ({"model_type": "qwen2_5_omni_talker"}, (*SOUND, "spatial_merge_size")),
    ({"model_type": "qwen3_omni_moe_thinker", "text_config": {"head_dim": 128}}, SOUND[:1]),
    ({"model_type": "Qwen3OmniMoeTalkerConfig"}, (*SOUND[:1], "spatial_merge_size")),
]
NOTED += [
    (
        {**config, **{key: 17 + place for place, key in enumerate(keys)}},
        {key: str(17 + place) for place, key in enumerate(keys)},
    )
    for config, keys in COUNTED
]


@pytest.mark.parametrize(("config", "noted"), NOTED, ids=[one[0]["model_type"] for one in NOTED])
def test_facts_are_noted_and_kept_by_a_manifest(config: dict[str, Any], noted: dict[str, str]) -> None:
    model = from_config(config)
    for notes in (model.idle, from_config(manifest(model).to_dict()).idle):
        assert {note.partition(" = ")[0]: note.stated.partition(":")[0] for note in notes} == {
            name: f"{name} = {value}" for name, value in noted.items()
        }
        assert all(isinstance(note, AsStated) for note in notes)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**RF_DETR, "out_indices": [1, 9]}, r"^out_indices must list stages of 3 layers; got \(1, 9\)"),
        ({**RF_DETR, "out_features": "stage1"}, "^out_features must list stages of 3 layers; got 'stage1'"),
    ],
)
def test_what_is_no_number_or_list_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        from_config(config)
