"""Types that are not compared with a tiny live model of their own, and what is particular to some that are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Types whose models take vectors in place of tokens.
TAKES_VECTORS = frozenset({
    "blt_global_transformer", "nemotron3_5_transcribe_asr_audio", "nemotron3_5_transcribe_word_timestamp",
    "nemotron3_diarization_audio", "voxtral_realtime_encoder", "qwen3_omni_moe_talker_code_predictor",
})  # fmt: skip
#: What a type needs besides, to be built small.
TINY: dict[str, dict[str, Any]] = {
    "deepseek_v2": {"num_experts_per_tok": 2, "n_routed_experts": 4, "topk_method": "greedy"},
    "helium": {"head_dim": 16},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "longcat_flash": {"head_dim": 16},
    "ministral": {"head_dim": 16},
    "nemotron": {"head_dim": 16, "num_key_value_heads": 2},
}

#: Types whose queries come already divided by √d, so that the scale of their logits says nothing.
SCALED_BEFORE = frozenset({"SaProtConfig", "openai_privacy_filter"})
#: Types that count tokens, whatever positions they are given.
COUNTS_TOKENS = frozenset({"SaProtConfig", "csm_depth_decoder_model", "dia_encoder", "llama4_text"})
#: Types that are built, and do with queries and keys what no record says; each has a note, or stands next to positions.
NOT_COMPARED = {
    "deepseek_v4": "its keys are those of tokens and compressed ones",
    "zamba": "layers share their attention, which counts them otherwise",
    "zaya": "a convolution stands between the hidden states and the queries",
}
#: Types that are not run live, by the reason; test_models_rotary.py compares their rotations.
WHY_NOT_BUILT: Mapping[str, tuple[str, ...]] = {
    # Sound (conformers, Mimi, LASR), series (TimesFM), codes (Code2Wav), patches of bytes (BLT), embeddings.
    "its model takes other inputs than tokens": (
        "Qwen3OmniMoeCode2WavConfig", "blt_local_decoder", "blt_local_encoder", "deepseek_ocr2_encoder",
        "glmasr_encoder", "lasr_encoder", "mimi_encoder", "moonshine", "moonshine_streaming_encoder",
        "muse_glimmer_assistant", "pe_audio_encoder", "pocket_tts_audio_tokenizer_encoder", "qwen2_5_omni_dit",
        "timesfm2_5", "voxtral_realtime_text", "wav2vec2-bert", "wav2vec2-conformer",
    ),
    "its tokens are rows of several codebooks, or as few as it has codebooks": (
        "csm", "dia_decoder", "kyutai_speech_to_text", "moshi_depth",
    ),
    "its model has more weights than MOST_WEIGHTS, whatever the sizes that the test states": (
        "dots3_note_text", "evolla", "idefics", "neucodec", "phi4_multimodal", "xcodec2",
    ),
    "its config class lacks an attribute that its model reads": (
        "dbrx", "moonshine_streaming", "qwen3_omni_moe_talker_text", "t5gemma2_decoder", "t5gemma2_text",
    ),
    "the defaults of its class leave a key null that its model needs": (
        "chameleon", "deepseek_ocr2_text", "diffusion_gemma_text", "dots1", "esm", "hunyuan_vl_text", "lfm2_moe",
        "qwen4_exp_text",
    ),
    "the sizes that the test states contradict its other keys": (
        "bailing_hybrid", "clvp_encoder", "codegen", "dots3_note_audio_encoder", "esmc", "gemma3n_text",
        "glm_ocr_text", "gradium_phonon_tts", "mamba2", "mimi", "mimi_decoder", "pocket_tts",
        "pocket_tts_audio_tokenizer", "pocket_tts_audio_tokenizer_decoder", "qwen2_5_omni_talker", "zamba2",
    ),
    # RoFormer and GPT-NeoX-Japanese attend by code of their own, GPT-J by a table of its own. Bamba's default config
    # has no layer of attention, and the others never attend.
    "its attention, where it has any, is not called by a name": (
        "bamba", "falcon_mamba", "gpt_neox_japanese", "gptj", "mamba", "roformer", "rwkv", "xlstm",
    ),
    "no model class takes its config alone": ("internlm3", "iquestcoder", "t5_gemma_module"),
    "its model needs torchvision or timm": ("pe_audio_video_encoder",),
}  # fmt: skip
NOT_BUILT = frozenset(name for names in WHY_NOT_BUILT.values() for name in names)
