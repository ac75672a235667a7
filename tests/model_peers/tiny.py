"""What a type needs, and small sizes alone do not give, to be built and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

MIMI = ("mimi", "mimi_decoder", "mimi_encoder")
POCKET = ("pocket_tts_audio_tokenizer", "pocket_tts_audio_tokenizer_decoder", "pocket_tts_audio_tokenizer_encoder")
T5GEMMA2 = {"dropout_rate": 0.0, "query_pre_attn_scalar": 256, "attn_logit_softcapping": None}
#: Keys of the config, which posenc reads too.
TINY: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {"n_group": 2},
    "bamba": {"num_hidden_layers": 4, "mamba_d_state": 16, "mamba_n_heads": 4},
    "blt_local_decoder": {"hidden_size_global": 64},
    "chameleon": {"vocabulary_map": {"<image>": 99}},
    "clvp_encoder": {"hidden_size": 256, "projection_dim": 256},
    "codegen": {"rotary_dim": 8, "n_positions": 16_384},
    "dbrx": {
        "rope_theta": 5e5,
        "attn_config": {"rope_theta": 5e5, "kv_n_heads": 2, "clip_qkv": 8.0},
        "ffn_config": {"hidden_size": 64, "ffn_hidden_size": 32},
    },
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 8},
    "deepseek_v2": {"num_experts_per_tok": 2, "n_routed_experts": 4, "topk_method": "greedy"},
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 32},
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "dots3_note_audio_encoder": {"adapter_input_size": 64},
    "dots3_note_text": {
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "swa_q_lora_rank": 16,
        "swa_kv_lora_rank": 16,
        "swa_head_dim": 32,
        "swa_qk_nope_head_dim": 16,
        "swa_v_head_dim": 16,
        "index_head_dim": 32,
        "index_n_heads": 4,
    },
    "esm": {"vocab_size": 100, "pad_token_id": 1, "position_embedding_type": "rotary"},
    "esmc": {"vocab_size": 100},
    "evolla": {
        "protein_encoder_config": {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 32,
        },
    },
    "gemma3n_text": {"num_kv_shared_layers": 2},
    "glm_ocr_text": {"head_dim": 64},
    "gptj": {"rotary_dim": 8, "n_positions": 16_384},
    "gradium_phonon_tts": {"flow_head_config": {"condition_dim": 64}},
    "helium": {"head_dim": 16},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "hunyuan_vl_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "xdrope_section": [16] * 4}},
    "idefics": {
        "use_resampler": True,
        "vision_config": {"embed_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32},
        "perceiver_config": {
            "resampler_n_latents": 4,
            "resampler_depth": 1,
            "resampler_n_heads": 2,
            "resampler_head_dim": 16,
        },
    },
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 4},
    "longcat_flash": {"head_dim": 16},
    "mamba2": {"n_groups": 2, "num_heads": 4, "head_dim": 32},
    "ministral": {"head_dim": 16},
    "moonshine": {"decoder_num_attention_heads": 4, "encoder_num_attention_heads": 4},
    "moonshine_streaming": {"num_key_value_heads": 4, "encoder_config": {"hidden_size": 64}},
    "moshi_depth": {"num_codebooks": 10, "input_size": 64},
    "muse_glimmer_assistant": {"target_layer_ids": [0]},
    "nemotron": {"head_dim": 16, "num_key_value_heads": 2},
    "phi4_multimodal": {
        "vision_config": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32},
        "audio_config": {"hidden_size": 64, "num_blocks": 2, "num_attention_heads": 4, "intermediate_size": 32},
    },
    "nemotron3_5_transcribe_word_timestamp": {"upsampling_factor": 1},
    "pocket_tts": {"flow_head_config": {"condition_dim": 64}},
    "qwen2_5_omni_dit": {"repeats": 1, "block_size": 4, "look_ahead_layers": [], "look_backward_layers": []},
    "qwen2_5_omni_talker": {"embedding_size": 512},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 32},
    "qwen4_exp_text": {
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 128,
        "indexer_budget": 64,
        "indexer_compress_ratio": 2,
        "num_key_value_heads": 2,
    },
    "t5_gemma_module": T5GEMMA2,
    "t5gemma2_decoder": T5GEMMA2,
    "t5gemma2_text": T5GEMMA2,
    "wav2vec2-bert": {"position_embeddings_type": "rotary"},
    "wav2vec2-conformer": {"position_embeddings_type": "rotary"},
    "zamba2": {"layers_block_type": ["linear_attention", "hybrid"] * 4},
}
#: The class that holds the attention, where another one would be built.
MODEL_OF = {
    "moonshine": "MoonshineDecoder",
    "moonshine_streaming": "MoonshineStreamingDecoder",
    "neucodec": "NeuCodecDecoder",
    "Qwen3OmniMoeCode2WavConfig": "Qwen3OmniMoeCode2WavTransformerModel",
    "t5_gemma_module": "T5GemmaEncoder",
    "xcodec2": "Xcodec2Decoder",
    **dict.fromkeys(MIMI, "MimiTransformerModel"),
    **dict.fromkeys(POCKET, "PocketTTSAudioTokenizerTransformerModel"),
}

#: Keys of windows, each with a value that few classes have by default.
WINDOWS = {"use_sliding_window": True, "max_window_layers": 2, "sliding_window": 3}
#: use_bidirectional_attention of types whose windows it changes.
BOTH_SIDES = {"gemma3_text": True, "step3p5": True, "gemma4_text": "all", "gemma4_unified_text": "all"}
#: Types whose layers do not run where is_causal is false, or whose window is one for the tokens that they generate.
CAUSAL_ALONE = {"diffusion_gemma_text", "unlimited_ocr_text"}


def other_windows(config: Any) -> dict[str, dict[str, Any]]:
    """Keys that give a config other windows, or other layers that have them, by what is done to it."""
    held = vars(config)
    made: dict[str, dict[str, Any]] = {"stated": {name: value for name, value in WINDOWS.items() if name in held}}
    if "use_sliding_window" in held:
        made["not used"] = {"use_sliding_window": False, "sliding_window": 3}
    if config.model_type in BOTH_SIDES:
        made["both sides"] = {"use_bidirectional_attention": BOTH_SIDES[config.model_type], "sliding_window": 3}
    if held.get("sliding_window") is not None and config.model_type not in CAUSAL_ALONE:
        made["not causal"] = {"is_causal": False, "sliding_window": 3}
    types = held.get("layer_types")
    if isinstance(types, list) and len(set(types)) > 1:
        made["other layers"] = {"layer_types": [*types[1:], types[0]]}
    return {name: keys for name, keys in made.items() if keys}


def other_scales(config: Any) -> list[dict[str, Any]]:
    """Keys that give a config heads of another width, or another scale of its logits."""
    keys = {"head_dim": 48, "query_pre_attn_scalar": 100, "attention_multiplier": 0.1}
    return [{name: value} for name, value in keys.items() if name in vars(config)]


def _only_positions(model: torch.nn.Module) -> None:
    """Queries and keys that are the rotated hidden states themselves, of conformers that rotate before they project."""
    for module in model.modules():
        for name in ("linear_q", "linear_k"):
            if hasattr(module, name):
                torch.nn.init.eye_(getattr(module, name).weight)
                torch.nn.init.zeros_(getattr(module, name).bias)


def _one_codebook(model: torch.nn.Module) -> None:
    """The weights of the first codebook for each of them: what differs then from token to token is positions."""
    for module in model.modules():
        if type(module).__name__ == "MoshiFlexibleLinear":
            module.weight.data[:] = module.weight.data[:1]


#: What is done to the weights of a model, so that nothing but positions tells one token from another.
WEIGHTS: dict[str, Callable[[torch.nn.Module], None]] = {
    "moshi_depth": _one_codebook,
    "wav2vec2-bert": _only_positions,
    "wav2vec2-conformer": _only_positions,
}
