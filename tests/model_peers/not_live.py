"""Types that are not compared with a tiny live model of their own, and what is particular to some that are."""

from __future__ import annotations

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
#: Types that are built, and do with queries and keys what no record says; each has a note, or stands beside positions.
NOT_COMPARED = {
    "deepseek_v4": "its keys are those of tokens and compressed ones",
    "zamba": "layers share their attention, which counts them otherwise",
    "zaya": "a convolution stands between the hidden states and the queries",
}
#: No generic tiny config builds these, or their attention has no name; test_models_rotary.py compares their rotations.
NOT_BUILT = frozenset({
    "Qwen3OmniMoeCode2WavConfig", "iquestcoder", "mimi_decoder", "mimi_encoder", "moonshine_streaming_encoder",
    "moshi_depth", "pocket_tts_audio_tokenizer_decoder",
    "pocket_tts_audio_tokenizer_encoder",
    "bailing_hybrid", "bamba", "blt_local_decoder", "blt_local_encoder", "chameleon",
    "clvp_encoder", "codegen", "csm", "dbrx", "deepseek_ocr2_encoder", "deepseek_ocr2_text",
    "dia_decoder", "diffusion_gemma_text", "dots1", "dots3_note_audio_encoder", "dots3_note_text", "esm",
    "falcon_mamba", "mamba", "mamba2", "rwkv", "xlstm",
    "esmc", "evolla", "gemma3n_text", "glm_ocr_text", "glmasr_encoder", "gpt_neox_japanese",
    "gptj", "gradium_phonon_tts", "hunyuan_vl_text", "idefics",
    "internlm3", "kyutai_speech_to_text", "lasr_encoder", "lfm2_moe", "mimi",
    "moonshine", "moonshine_streaming", "muse_glimmer_assistant",
    "neucodec", "pe_audio_encoder",
    "pe_audio_video_encoder", "phi4_multimodal", "pocket_tts", "pocket_tts_audio_tokenizer", "qwen2_5_omni_dit",
    "qwen2_5_omni_talker", "qwen3_omni_moe_talker_text",
    "qwen4_exp_text", "roformer", "t5_gemma_module", "t5gemma2_decoder", "t5gemma2_text",
    "timesfm2_5", "voxtral_realtime_text", "wav2vec2-bert", "wav2vec2-conformer",
    "xcodec2", "zamba2",
})  # fmt: skip
