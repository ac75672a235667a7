"""What a live model is called with: tokens, or what its type takes in place of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

#: Tokens, or vectors, that a model is given.
COUNT = 9
#: The length of a row of random numbers that stands for the width of the model.
WIDTH = 64
TOKENS = torch.randint(5, 90, (1, COUNT), generator=torch.Generator().manual_seed(0))
VECTORS = {"inputs_embeds": (1, COUNT, WIDTH)}
STATES = {"hidden_states": (1, COUNT, WIDTH)}


def rows(codebooks: int) -> dict[str, torch.Tensor]:
    """Tokens that are rows, one of each codebook."""
    return {"input_ids": TOKENS[..., None].expand(-1, -1, codebooks)}


#: Types that take other things than tokens alone, by the names of the arguments: shapes of random numbers, or values.
GIVEN: Mapping[str, Mapping[str, Any]] = {
    "blt_global_transformer": VECTORS,
    "blt_local_decoder": {**VECTORS, "patch_embeds": (1, 3, WIDTH)},
    "blt_local_encoder": {
        "input_ids": TOKENS,
        "num_patches": 3,
        "patch_ids": torch.arange(COUNT)[None] // 3,
    },
    "csm": rows(32),
    "deepseek_ocr2_encoder": {**VECTORS, "num_patches": 0},
    "dia_decoder": {**rows(9), "encoder_hidden_states": (1, 5, 1024)},
    "dots3_note_audio_encoder": {
        "input_features": (1, 128, 8 * COUNT),
        "chunk_sample_lengths": torch.tensor([8 * 160 * COUNT]),
    },
    "glmasr_encoder": {"input_features": (1, 128, 2 * COUNT)},
    "idefics": {
        "input_ids": TOKENS,
        "perceiver_embeddings": (1, 1, 4, WIDTH),
        "image_attention_mask": torch.ones(1, COUNT, 1),
    },
    "kyutai_speech_to_text": rows(33),
    "lasr_encoder": {"input_features": (1, 4 * COUNT + 9, 128)},
    "mimi": STATES,
    "mimi_decoder": STATES,
    "mimi_encoder": STATES,
    "moonshine": {"input_ids": TOKENS, "encoder_hidden_states": (1, 5, WIDTH)},
    "moonshine_streaming": {"input_ids": TOKENS, "encoder_hidden_states": (1, 5, WIDTH)},
    "moonshine_streaming_encoder": {
        "input_values": (1, 4 * 80 * COUNT),
        "attention_mask": torch.ones(1, 4 * 80 * COUNT, dtype=torch.long),
    },
    "moshi_depth": {"input_ids": TOKENS, "last_hidden_state": (1, COUNT, WIDTH)},
    "muse_glimmer_assistant": {"noise_embeds": (1, COUNT, WIDTH), "context_hidden_states": (1, 0, WIDTH)},
    "nemotron3_5_transcribe_asr_audio": VECTORS,
    "nemotron3_5_transcribe_word_timestamp": VECTORS,
    "nemotron3_diarization_audio": VECTORS,
    "neucodec": {"hidden_states": (1, COUNT, WIDTH + 1024)},
    "pe_audio_encoder": {"input_values": (1, 1, 1920 * (COUNT - 1))},
    "pocket_tts_audio_tokenizer": STATES,
    "pocket_tts_audio_tokenizer_decoder": STATES,
    "pocket_tts_audio_tokenizer_encoder": STATES,
    "qwen2_5_omni_dit": {
        "hidden_states": (1, COUNT, 80),
        "condition_vector": (1, COUNT, 80),
        "speaker_embedding": (1, COUNT, 192),
        "quantized_code": TOKENS,
        "time_step": torch.tensor(0.5),
        "apply_cfg": False,
    },
    "qwen3_omni_moe_talker_code_predictor": VECTORS,
    "qwen3_omni_moe_talker_text": {"inputs_embeds": (1, COUNT, 512)},
    "Qwen3OmniMoeCode2WavConfig": VECTORS,
    "t5gemma2_decoder": {"input_ids": TOKENS, "encoder_hidden_states": (1, 5, WIDTH)},
    "timesfm2_5": {"past_values": (1, 32 * COUNT)},
    "voxtral_realtime_encoder": VECTORS,
    "voxtral_realtime_text": {"input_ids": TOKENS, "t_cond": (1, 1, WIDTH)},
    "wav2vec2-bert": {"input_features": (1, COUNT, 160)},
    "wav2vec2-conformer": {"input_values": (1, 320 * COUNT + 80)},
    "xcodec2": {"hidden_states": (1, COUNT, WIDTH + 1024)},
}


def given_to(model_type: str, model: torch.nn.Module) -> dict[str, Any]:
    """The arguments of a model, without positions."""
    known = inspect.signature(model.forward).parameters
    given: Mapping[str, Any] = GIVEN.get(model_type) or {
        name: TOKENS for name in ("input_ids", "decoder_input_ids") if name in known
    }
    generator = torch.Generator().manual_seed(0)
    made = {
        name: torch.randn(value, generator=generator) if isinstance(value, tuple) else value
        for name, value in {**given, "use_cache": False}.items()
    }
    takes_more = any(each.kind is each.VAR_KEYWORD for each in known.values())
    return {name: value for name, value in made.items() if name in known or (takes_more and name in given)}
