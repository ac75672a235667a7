"""Table of all model types that posenc knows, by name, and their aliases."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from posenc.models.config.model_type import ModelType
from posenc.models.config.model_types.audio import AUDIO
from posenc.models.config.model_types.latent_attention import LATENT_ATTENTION
from posenc.models.config.model_types.no_positions import NO_POSITIONS
from posenc.models.config.model_types.not_read import NOT_READ
from posenc.models.config.model_types.patch_tables import PATCH_TABLES
from posenc.models.config.model_types.several_axes import MEDIA_TEXT, VISION
from posenc.models.config.model_types.tables_and_biases import BIASES, LEARNED_TABLES
from posenc.models.config.model_types.text import TEXT
from posenc.models.notes import NotRead

NECK = "its neck hands sines of rows and columns to the model after it, which are not read"
#: What parts alone make up: the model around them adds no position, or none besides a head that convolves.
PARTS_ALONE = (
    "Qwen3OmniMoeTalkerConfig", "aimv2", "align", "altclip", "aria", "audioflamingo3", "aya_vision", "bark", "blip",
    "blip-2", "blt", "bridgetower", "canary", "chinese_clip", "chmv2", "clap", "clip", "clipseg", "cohere2_vision",
    "cohere_compass", "colmodernvbert", "colpali", "colqwen2", "cosmos3_edge", "cosmos3_omni", "deepseek_ocr2",
    "deepseek_ocr2_vision", "deepseek_vl", "deepseek_vl_hybrid", "depth_anything", "depth_pro", "dia",
    "diffusion_gemma", "dots3_note", "edgetam", "embedding_gemma2", "emu3", "encoder-decoder", "ernie4_5_vl_moe",
    "exaone4_5", "fast_vlm", "fastspeech2_conformer_with_hifigan", "flava", "fun_asr_nano", "fuyu", "gemma3",
    "gemma3n", "gemma4", "gemma4_assistant", "gemma4_unified", "gemma4_unified_assistant", "glm46v", "glm4v",
    "glm4v_moe", "glm5_next", "glm_image", "glm_ocr", "glmasr", "glmga", "got_ocr2", "granite_docling",
    "granite_speech", "granite_speech5_ctc", "granite_speech_plus", "groupvit", "higgs_audio_v2_tokenizer",
    "hunyuan_vl", "hyperclovax_vision_v2", "idefics2", "idefics3", "inkling2", "inkling_mm_model", "instructblip",
    "instructblipvideo", "internvl", "janus", "jev", "kimi_k25", "kosmos-2", "kosmos-2.5", "lasr_ctc", "lfm2_vl",
    "lfm3_vl", "lighton_ocr", "llama4", "llava", "llava_next", "llava_next_video", "llava_onevision", "metaclip_2",
    "minicpm_ocr", "minicpmv4_6", "minicpmv4_7", "minimax_m3_vl", "mistral3", "mistral_large4", "mllama",
    "modernvbert", "molmo2", "moss_transcribe_diarize", "muse_glimmer", "muse_spark", "musicgen", "musicgen_melody",
    "nemo_speechlm", "nemotron3_5_asr", "nemotron3_5_transcribe_audio", "nemotron3_diarization",
    "nemotron_asr_streaming", "nemotron_h_omni", "nougat", "ovis2", "owlv2", "owlvit", "paddleocr_vl", "paligemma",
    "parakeet_ctc", "parakeet_rnnt", "parakeet_tdt", "pe_audio", "pe_audio_video", "pe_video", "perception_lm",
    "pi0", "pix2struct", "pp_chart2table", "pp_formulanet", "pp_ocrv5_mobile_det", "pp_ocrv5_mobile_rec",
    "pp_ocrv5_server_det", "pp_ocrv5_server_rec", "pp_ocrv6_medium_det", "pp_ocrv6_small_det", "pp_ocrv6_small_rec",
    "pp_ocrv6_tiny_rec", "prompt_depth_anything", "qianfan_ocr", "qwen2_5_omni", "qwen2_5_omni_thinker",
    "qwen2_5_omni_token2wav", "qwen2_5_vl", "qwen2_audio", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_asr",
    "qwen3_omni_moe", "qwen3_omni_moe_thinker", "qwen3_vl", "qwen3_vl_moe", "qwen4_exp", "sam", "sam2", "sam3",
    "sam3_lite_text", "sam3_tracker", "sam3_video", "sam_hq", "shieldgemma2", "siglip", "siglip2", "slanet",
    "slanext", "smolvlm", "speech-encoder-decoder", "step3p7", "t5gemma", "t5gemma2", "t5gemma2_encoder", "tipsv2",
    "tipsv2_dpt", "ultravbert", "unlimited_ocr", "unlimited_ocr_vision", "upernet", "uvdoc", "vibevoice",
    "vibevoice_asr", "video_llama_3", "video_llava", "videoprism", "vipllava", "vision-encoder-decoder",
    "vision-text-dual-encoder", "vitmatte", "vitpose", "voxtral", "voxtral_realtime", "xcodec",
)  # fmt: skip
#: What the model around its parts adds, which is not read.
ADDED: Mapping[str, str] = MappingProxyType(
    {
        "clvp": "its conditioning encoder adds a learned table of max_text_tokens rows, which is not read",
        "edgetam_vision_model": NECK,
        "florence2": "its projector adds tables of rows and columns, and sines of frames, which are not read",
        "granite4_vision": "its projector adds a learned vector to every patch of a window, which is not read",
        "sam2_vision_model": NECK,
        "sam3_vision_model": NECK,
        "xclip": "the transformer over frames adds a learned vector for every frame, which is not read",
        "zoedepth": "the transformer of its head adds sines of patches, which are not read",
    }
)
#: Keys of a model that count for parts of it, whatever these say: the key, its name in a part, and the parts.
HANDED_DOWN: Mapping[str, tuple[str, str, tuple[str, ...]]] = MappingProxyType(
    {"blt": ("local_attention_window_len", "sliding_window", ("encoder_config", "decoder_config"))}
)
#: Values that a model gives a part of it that states none: the part, the key and its value.
FILLED_IN: Mapping[str, tuple[str, str, object]] = MappingProxyType(
    {"paligemma": ("text_config", "use_bidirectional_attention", True)}
)
#: The notes of every type that is made of parts.
MADE_OF_PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    dict.fromkeys(PARTS_ALONE, ()) | {name: (NotRead(note),) for name, note in ADDED.items()}
)

#: Types that are another one under a name of their own, which files of released models state.
SAME_AS: Mapping[str, str] = MappingProxyType({"kimi_k2": "deepseek_v3"})


ROWS = (
    *TEXT,
    *LATENT_ATTENTION,
    *MEDIA_TEXT,
    *VISION,
    *AUDIO,
    *LEARNED_TABLES,
    *PATCH_TABLES,
    *BIASES,
    *NO_POSITIONS,
    *NOT_READ,
)
#: The row of every model type.
MODEL_TYPES: Mapping[str, ModelType] = MappingProxyType({name: row for row in ROWS for name in row.names})
