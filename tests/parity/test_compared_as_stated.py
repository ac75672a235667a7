"""Keys that from_config notes for `diff`, against live models: they change the output of equal weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from transformers import AutoConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.clip import modeling_clip
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.lw_detr import modeling_lw_detr
from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl
from transformers.models.qwen3_omni_moe import modeling_qwen3_omni_moe
from transformers.models.rf_detr import modeling_rf_detr
from transformers.models.sam import modeling_sam
from transformers.models.vitdet import modeling_vitdet

from every import every
from posenc.models import diff, from_config
from posenc.models.config.compared_as_stated import FACTS
from posenc.models.notes import AsStated

pytestmark = pytest.mark.parity
#: 8 by 8 patches.
GRID = 8
QWEN: dict[str, Any] = {
    "model_type": "qwen2_5_vl_vision", "depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 32,
    "out_hidden_size": 32, "patch_size": 2, "temporal_patch_size": 1, "window_size": 8, "fullatt_block_indexes": [1],
    "spatial_merge_size": 2,
}  # fmt: skip
WINDOWED: dict[str, Any] = {
    "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "image_size": 64, "patch_size": 8,
    "pretrain_image_size": 64, "window_block_indices": [0],
}  # fmt: skip
VITDET = {**WINDOWED, "model_type": "vitdet", "window_size": 4}
LW_DETR = {**WINDOWED, "model_type": "lw_detr_vit", "num_windows": 4}
SAM: dict[str, Any] = {
    "model_type": "sam_vision_model", "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2,
    "image_size": 64, "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "use_rel_pos": False,
    "output_channels": 8, "mlp_dim": 32,
}  # fmt: skip
AUDIO: dict[str, Any] = {
    "model_type": "qwen3_omni_moe_audio_encoder", "d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 2,
    "encoder_ffn_dim": 32, "num_mel_bins": 16, "n_window": 50, "n_window_infer": 100, "output_dim": 32,
    "downsample_hidden_size": 8, "max_source_positions": 64,
}  # fmt: skip
RF_DETR: dict[str, Any] = {
    "model_type": "rf_detr_dinov2", "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 3,
    "image_size": 64, "patch_size": 8, "num_windows": 2, "out_indices": [1, 3],
}  # fmt: skip
CLIP: dict[str, Any] = {
    "model_type": "clip_vision_model", "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 1,
    "image_size": 64, "patch_size": 8,
}  # fmt: skip
GEMMA: dict[str, Any] = {
    "model_type": "gemma2", "hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16,
    "num_hidden_layers": 2, "intermediate_size": 32, "vocab_size": 16,
}  # fmt: skip
CLASSES: dict[str, Any] = {
    "gemma2": modeling_gemma2.Gemma2Model,
    "clip_vision_model": modeling_clip.CLIPVisionModel,
    "qwen2_5_vl_vision": modeling_qwen2_5_vl.Qwen2_5_VisionTransformerPretrainedModel,
    "vitdet": modeling_vitdet.VitDetBackbone,
    "lw_detr_vit": modeling_lw_detr.LwDetrViTBackbone,
    "sam_vision_model": modeling_sam.SamVisionModel,
    "qwen3_omni_moe_audio_encoder": modeling_qwen3_omni_moe.Qwen3OmniMoeAudioEncoder,
    "rf_detr_dinov2": modeling_rf_detr.RfDetrDinov2Backbone,
}
#: A config, a key, and a value that changes outputs.
CHANGED = [
    (QWEN, "window_size", 16),
    (QWEN, "fullatt_block_indexes", [0, 1]),
    (VITDET, "window_size", 2),
    (VITDET, "window_block_indices", [0, 1]),
    (LW_DETR, "num_windows", 16),
    (LW_DETR, "window_block_indices", []),
    (SAM, "window_size", 2),
    (SAM, "global_attn_indexes", [0, 1]),
    (AUDIO, "n_window_infer", 200),
    (RF_DETR, "num_windows", 4),
    (CLIP, "num_attention_heads", 4),
    (GEMMA, "attn_logit_softcapping", 0.5),
    (GEMMA, "attn_logit_softcapping", None),
    (RF_DETR, "out_indices", [2, 3]),
]


def output(config: dict[str, Any]) -> torch.Tensor:
    """The output of a model whose weights depend on their names' order alone."""
    settings = {key: value for key, value in config.items() if key != "model_type"}
    made = CONFIG_MAPPING[config["model_type"]](**settings, attn_implementation="eager")
    model = CLASSES[config["model_type"]]._from_config(made).eval()
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.3)
        return _run(model, config["model_type"], draw)


def _run(model: Any, model_type: str, draw: torch.Generator) -> torch.Tensor:
    if model_type == "qwen2_5_vl_vision":
        patches = torch.randn(GRID * GRID, 3 * 2 * 2, generator=draw)
        return model(patches, grid_thw=torch.tensor([[1, GRID, GRID]])).last_hidden_state
    if model_type == "qwen3_omni_moe_audio_encoder":
        return model(torch.randn(16, 200, generator=draw), feature_lens=torch.tensor([200])).last_hidden_state
    if model_type == "gemma2":
        return model(torch.arange(12)[None]).last_hidden_state
    pixels = torch.randn(1, 3, 64, 64, generator=draw)
    found = model(pixels)
    return found.feature_maps[-1] if hasattr(found, "feature_maps") else found.last_hidden_state


@pytest.mark.parametrize(
    ("config", "key", "other"), CHANGED, ids=[f"{one[0]['model_type']}-{one[1]}" for one in CHANGED]
)
def test_a_key_is_compared_where_it_changes_outputs(config: dict[str, Any], key: str, other: Any) -> None:
    reference, read = output(config), from_config(config)
    assert not torch.allclose(output({**config, key: other}), reference, atol=1e-4)
    assert diff(read, from_config({**config, key: other})).verdict != "agree in everything that this evidence can show"


def test_defaults_of_classes_are_compared_as_if_files_stated_them() -> None:
    def check(model_type: str) -> None:
        config = CONFIG_MAPPING[model_type]().to_dict()
        whole = from_config(config)
        shorter = {key: value for key, value in config.items() if isinstance(value, dict) or key == "model_type"}
        notes = [
            {note.stated for note in model.notes if isinstance(note, AsStated)}
            for model in (whole, from_config(shorter))
        ]
        assert notes[0] == notes[1], model_type

    needing_more = {"Qwen3OmniMoeTalkerConfig", "qwen3_omni_moe_thinker"}
    every(sorted(set(FACTS) - needing_more), check)


def test_videos_of_qwen_stand_farther_apart_by_more_tokens_a_second() -> None:
    text = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "intermediate_size": 16,
        "vocab_size": 8,
    }
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
    videos = []
    for rate in (2, 4):
        vision = {**QWEN, "tokens_per_second": rate, "depth": 1}
        config = {"model_type": "qwen2_5_vl", "text_config": {**text, "rope_parameters": rope}, "vision_config": vision}
        model = modeling_qwen2_5_vl.Qwen2_5_VLModel(AutoConfig.for_model(**config))
        kinds = torch.tensor([[2, 2]])
        found, _ = model.get_rope_index(
            torch.tensor([[0, 0]]), kinds, video_grid_thw=torch.tensor([[2, 2, 2]]), second_per_grid_ts=[1.0]
        )
        videos.append((found[0, 0].tolist(), from_config(config)))
    assert [times for times, _ in videos] == [[0, 2], [0, 4]]
    assert "vision_config.tokens_per_second = 2" in str(diff(videos[0][1], videos[1][1]))


def test_no_key_that_a_class_writes_is_said_to_be_read_by_none() -> None:
    def check(model_type: str) -> None:
        notes = from_config(CONFIG_MAPPING[model_type]().to_dict()).notes
        assert not [note for note in notes if "is read by no class" in note]

    every(("gemma3n_text", "lfm2", "mobilevitv2", "rf_detr_dinov2", "zamba2"), check)
