"""How the model classes of transformers use what their configs say: what no config states.

Read in the modeling files of transformers 5.23.0, and proved by tests/parity/test_models_rotary.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

HeadRule = Literal[
    "head", "divided", "latent", "shared", "windowed", "global", "doubled", "memory", "embedded", "whole", "projected"
]


@dataclass(frozen=True)
class Family:
    """The habits of one model type that rotates queries and keys.

    pairing: which channels turn together; "interleave" asks the key rope_interleave.   part: of the model.
    partial: whether partial_rotary_factor counts at rope_type "default".
    head: where the width comes from: "head", head_dim or hidden_size over heads; "divided", always the latter; "latent",
    qk_rope_head_dim channels behind qk_nope_head_dim others (multi-head latent attention); "shared", the same, stated once more as
    partial_rotary_factor; "windowed", the same, with widths of their own for layers with a window; "global", global_head_dim on
    full layers; "doubled", twice hidden_size over heads; "memory" and "embedded", by keys of SAM 2 and of Qwen2-VL; "whole", all heads together; "projected", by CLVP's projection_dim.   last: whether the last channels of a head turn, not the first.
    rotated: the layer types that rotate; None for all with attention.   sharpens: whether logits are multiplied by
    m(mscale_all_dim)².   axes: how pairs are allotted to several axes, by its name in `axes.py`; empty for one axis.
    backward: whether pairs turn by the negative of every angle.
    """

    pairing: Literal["adjacent", "halves", "interleave"] = "halves"
    part: str = "text"
    partial: bool = False
    head: HeadRule = "head"
    last: bool = False
    rotated: tuple[str, ...] | None = None
    sharpens: bool = False
    axes: str = ""
    backward: bool = False


#: Layer types without attention.
UNPLACED = frozenset({"linear_attention", "conv", "mamba", "mamba2", "recurrent", "moe", "mlp"})

HALVES = [
    "apertus",
    "arcee",
    "aria_text",
    "bitnet",
    "chameleon",
    "csm",
    "cwm",
    "dbrx",
    "deepseek_ocr2_text",
    "deepseek_ocr2_encoder",
    "diffllama",
    "doge",
    "dots1",
    "emu3_text_model",
    "esmc",
    "eurobert",
    "evolla",
    "falcon",
    "falcon_h1",
    "flex_olmo",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gemma3n_text",
    "gradium_phonon_tts",
    "gpt_oss",
    "granite",
    "granite4_vision_text",
    "granite_docling_text",
    "granite_swa",
    "granitemoe",
    "granitemoe_swa",
    "granitemoehybrid",
    "granitemoeshared",
    "gte",
    "higgs_audio_v2",
    "hrm_text",
    "hunyuan_v1_dense",
    "hunyuan_v1_moe",
    "hy_v3",
    "hyperclovax",
    "idefics",
    "jais2",
    "jetmoe",
    "jina_embeddings_v3",
    "kolibri1",
    "kyutai_speech_to_text",
    "lfm2",
    "lfm2_moe",
    "lfm3",
    "llama",
    "mellum",
    "minimax",
    "ministral",
    "ministral3",
    "mistral",
    "mixtral",
    "mllama_text_model",
    "modernbert",
    "modernbert-decoder",
    "molmo2_text",
    "moshi",
    "muse_glimmer_assistant",
    "nomic_bert",
    "olmo",
    "olmo2",
    "olmo3",
    "olmo_hybrid",
    "olmoe",
    "phimoe",
    "pocket_tts",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen3_omni_moe_talker_code_predictor",
    "seed_oss",
    "smollm3",
    "starcoder2",
    "t5gemma2_text",
    "timesfm2_5",
    "ultrabert",
    "unlimited_ocr_text",
    "vaultgemma",
]
PARTIAL = [
    "bamba",
    "glm4_moe",
    "gpt_neox",
    "gpt_neox_japanese",
    "laguna",
    "mimo_v2_flash",
    "minimax_m2",
    "nemotron",
    "persimmon",
    "phi",
    "phi3",
    "phi4_multimodal",
    "qwen3_next",
    "solar_open",
    "stablelm",
    "zaya",
]
ADJACENT = [
    "blt_local_decoder",
    "blt_local_encoder",
    "blt_global_transformer",
    "blt_patcher",
    "cohere",
    "ernie4_5",
    "ernie4_5_moe",
    "helium",
    "openai_privacy_filter",
]
ADJACENT_PARTIAL = ["glm", "glm4"]
#: Rotations inside audio models.
AUDIO = ["lasr_encoder", "mimi", "neucodec", "pocket_tts_audio_tokenizer", "xcodec2", "qwen2_5_omni_dit"]
AUDIO_PARTIAL = [
    "dots3_note_audio_encoder",
    "glmasr_encoder",
    "nemotron3_5_transcribe_asr_audio",
    "nemotron3_diarization_audio",
]
#: Multi-head latent attention: pairs of adjacent channels, halves, or by rope_interleave.
LATENT_ADJACENT = [
    "axk2",
    "bailing_hybrid",
    "deepseek_v2",
    "deepseek_v32",
    "glm_moe_dsa",
    "longcat_flash",
    "mistral_large4_text",
]
LATENT_HALVES = ["hy_v4", "minicpm3"]
LATENT_STATED = ["axk1", "deepseek_v3", "glm4_moe_lite", "youtu"]
#: Positions of text, images and videos in three coordinates: by runs of pairs, or by strides.
SECTIONED = ["paddleocr_vl_text", "qwen2_5_omni_talker", "qwen2_5_omni_text", "qwen2_5_vl_text", "qwen2_vl_text"]
SECTIONED_PARTIAL = ["glm4v_moe_text", "glm_image_text"]
SECTIONED_ADJACENT = ["glm4v_text", "glm_ocr_text"]
STRIDED = [
    "cosmos3_edge_text",
    "qwen3_omni_moe_talker_text",
    "qwen3_omni_moe_text",
    "qwen3_vl_moe_text",
    "qwen3_vl_text",
]
STRIDED_PARTIAL = ["qwen3_5_moe_text", "qwen3_5_text", "qwen4_exp_text"]
#: Vision towers: height and width.
GRID = [
    "cohere_compass_vision", "dots3_note_vision_encoder", "ernie4_5_vl_moe_vision", "exaone4_5_vision",
    "glm4v_moe_vision", "glm4v_vision", "glm5_next_vision", "glm_ocr_vision", "lfm3_vl_vision", "mlcd_vision_model",
    "muse_glimmer_vision", "muse_spark_vision", "paddleocr_vl_vision", "qwen2_5_omni_vision_encoder",
    "qwen2_5_vl_vision", "qwen3_5_moe_vision", "qwen3_5_vision", "qwen3_omni_moe_vision_encoder",
    "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision", "video_llama_3_vision",
]  # fmt: skip
MEMORY = ["edgetam_video", "sam2_video", "sam3_tracker_video"]
SLIDING = ("sliding_attention",)


@lru_cache(maxsize=1)
def families() -> Mapping[str, Family]:
    """Every model type that rotates, and its habits."""
    found = dict.fromkeys(HALVES, Family())
    found |= dict.fromkeys(PARTIAL, Family(partial=True))
    found |= dict.fromkeys(ADJACENT, Family(pairing="adjacent"))
    found |= dict.fromkeys(ADJACENT_PARTIAL, Family(pairing="adjacent", partial=True))
    found |= dict.fromkeys(AUDIO, Family(part="audio"))
    found |= dict.fromkeys(AUDIO_PARTIAL, Family(part="audio", partial=True))
    found |= dict.fromkeys(LATENT_ADJACENT, Family(pairing="adjacent", head="latent", sharpens=True))
    found |= dict.fromkeys(LATENT_HALVES, Family(head="latent", sharpens=True))
    found |= dict.fromkeys(LATENT_STATED, Family(pairing="interleave", head="latent", sharpens=True))
    found |= dict.fromkeys(SECTIONED, Family(axes="sections"))
    found |= dict.fromkeys(SECTIONED_PARTIAL, Family(axes="sections", partial=True))
    found |= dict.fromkeys(SECTIONED_ADJACENT, Family(pairing="adjacent", axes="sections", partial=True))
    found |= dict.fromkeys(STRIDED, Family(axes="strided"))
    found |= dict.fromkeys(STRIDED_PARTIAL, Family(axes="strided", partial=True))
    found |= dict.fromkeys(GRID, Family(part="vision", axes="grid"))
    found |= dict.fromkeys(MEMORY, Family(pairing="adjacent", part="vision", axes="grid", head="memory"))
    return MappingProxyType(found | ALONE)


#: Model types with habits of their own.
ALONE = {
    "afmoe": Family(rotated=SLIDING),
    "cohere2": Family(pairing="adjacent", rotated=SLIDING, head="divided"),
    "cohere2_moe": Family(pairing="adjacent", rotated=SLIDING),
    "deepseek_v4": Family(pairing="adjacent", partial=True, last=True),
    "diffusion_gemma_text": Family(head="global", partial=True),
    "embedding_gemma2_text": Family(head="global"),
    "exaone4": Family(rotated=SLIDING),
    "exaone_moe": Family(rotated=SLIDING),
    "flint": Family(rotated=SLIDING),
    "gemma4_text": Family(head="global"),
    "gemma4_unified_text": Family(head="global"),
    "llama4_text": Family(pairing="adjacent"),
    "nanochat": Family(backward=True),
    "recurrent_gemma": Family(partial=True, head="divided"),
    "pe_audio_encoder": Family(pairing="adjacent", part="audio"),
    "pe_audio_video_encoder": Family(pairing="adjacent", part="audio"),
    "pe_video_encoder": Family(pairing="adjacent", part="vision"),
    "dia_encoder": Family(part="encoder"),
    "dia_decoder": Family(part="decoder"),
    "moonshine_streaming": Family(pairing="adjacent", part="decoder", partial=True),
    "t5_gemma_module": Family(part="module"),
    "t5gemma2_decoder": Family(part="decoder"),
    "deepseek_ocr2_text": Family(head="divided"),
    "cohere_compass_text": Family(head="divided", axes="strided"),
    "ernie4_5_vl_moe_text": Family(pairing="adjacent", axes="alternating"),
    "gemma4_vision": Family(part="vision", axes="blocks"),
    "hunyuan_vl_text": Family(axes="channels"),
    "inkling2_vision": Family(pairing="adjacent", part="vision", axes="turned grid"),
    "kimi_k25_vision": Family(part="vision", axes="woven"),
    "llama4_vision_model": Family(pairing="adjacent", part="vision", axes="turned grid"),
    "minimax_m3_vl_vision": Family(part="vision", axes="volume"),
    "neomme": Family(axes="parity", partial=True),
    "pixtral": Family(part="vision", axes="split"),
    "qwen2_vl_vision": Family(part="vision", axes="grid", head="embedded"),
    "sam3_vit_model": Family(pairing="adjacent", part="vision", axes="grid"),
    "step3p5_vision": Family(part="vision", axes="turned grid"),
    "dinov3_vit": Family(part="vision", axes="grid", head="divided"),
    "eomt_dinov3": Family(part="vision", axes="grid", head="divided"),
    "sapiens2": Family(part="vision", axes="grid", head="divided"),
    "esm": Family(head="divided"),
    "SaProtConfig": Family(part="protein", head="divided"),
    "wav2vec2-bert": Family(part="audio", head="divided"),
    "wav2vec2-conformer": Family(part="audio", head="divided"),
    "falcon": Family(head="divided"),
    "unlimited_ocr_text": Family(head="divided"),
    "voxtral_realtime_text": Family(),
    "step3p5": Family(partial=True),
    "zamba2": Family(head="doubled"),
    "moonshine": Family(pairing="adjacent", part="encoder", partial=True),
    "muse_glimmer_text": Family(),
    "muse_spark_text": Family(),
    "minimax_m3_vl_text": Family(partial=True),
    "voxtral_realtime_encoder": Family(part="audio"),
    "beam": Family(),
    "clvp_encoder": Family(head="projected"),
    "csm_depth_decoder_model": Family(part="depth decoder"),
    "dots3_note_text": Family(pairing="adjacent", head="windowed"),
    "efficientloftr": Family(pairing="adjacent", part="vision", axes="woven rows", head="whole"),
    "mistral4": Family(pairing="interleave", head="shared", sharpens=True),
    "mistral_large4_text": Family(pairing="adjacent", head="latent", sharpens=True),
}
