"""Transformers as an engine of probes, and configs of every architecture that a probe is written for."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from posenc.probe.architectures import architecture_of

BASE = 500_000.0
WIDTHS = {"hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 500}
ROTARY = {**WIDTHS, "head_dim": 16, "num_key_value_heads": 8, "rope_theta": BASE, "max_position_embeddings": 4096}
TWO_KINDS = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
LATENT = {
    **WIDTHS, "rope_theta": BASE, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "kv_lora_rank": 32, "v_head_dim": 32,
    "q_lora_rank": 64, "num_key_value_heads": 8, "max_position_embeddings": 4096,
}  # fmt: skip
#: As the files of gpt-oss state it.
GPT_OSS_YARN = {
    "rope_type": "yarn", "rope_theta": 150_000.0, "factor": 32.0, "original_max_position_embeddings": 4096,
    "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
}  # fmt: skip
#: Keys that a model type states besides those of Llama; all of them have four layers or more.
ROTARY_CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {}, "mistral": {"sliding_window": 24}, "ministral": {"sliding_window": 24, "layer_types": TWO_KINDS},
    "qwen2": {}, "qwen3": {}, "gemma": {},
    "gemma2": {"sliding_window": 24, "query_pre_attn_scalar": 16, "layer_types": TWO_KINDS},
    "gemma3_text": {"sliding_window": 24, "query_pre_attn_scalar": 16, "layer_types": TWO_KINDS,
                    "rope_local_base_freq": 1e4},
    "gpt_oss": {"sliding_window": 24, "layer_types": TWO_KINDS,
                "rope_parameters": {"rope_type": "default", "rope_theta": BASE}},
    "gpt_oss_yarn": {"model_type": "gpt_oss", "rope_theta": 150_000.0, "head_dim": 32, "sliding_window": 24,
                     "layer_types": TWO_KINDS, "max_position_embeddings": 131_072, "rope_parameters": GPT_OSS_YARN},
    "phi": {"partial_rotary_factor": 0.5}, "phi3": {"partial_rotary_factor": 1.0},
    "glm": {"partial_rotary_factor": 0.5},
    "glm4": {"partial_rotary_factor": 0.5}, "cohere": {}, "cohere2": {"sliding_window": 24, "layer_types": TWO_KINDS},
    "olmo2": {}, "olmo3": {"sliding_window": 24, "layer_types": TWO_KINDS},
    "exaone4": {"sliding_window": 24, "layer_types": TWO_KINDS},
    "smollm3": {"no_rope_layers": [1, 1, 1, 0]}, "granite": {"attention_multiplier": 0.25}, "starcoder2": {},
    # Qwen2-VL's files of the hub state the text model's keys beside the vision tower's; the others nest them.
    "qwen2_vl": {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
    "qwen2_5_vl": {"model_type": "qwen2_5_vl_text", "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
    "qwen3_vl": {"model_type": "qwen3_vl_text", "rope_theta": None, "rope_parameters": {
        "rope_type": "default", "rope_theta": BASE, "mrope_section": [4, 2, 2], "mrope_interleaved": True}},
    "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": BASE}, "deepseek_v2": LATENT, "deepseek_v3": LATENT,
}  # fmt: skip


OTHER_CONFIGS: dict[str, dict[str, Any]] = {
    "bloom": {"hidden_size": 128, "n_head": 8, "n_layer": 4, "vocab_size": 500},
    "mpt": {"d_model": 128, "n_heads": 8, "n_layers": 4, "vocab_size": 500, "max_seq_len": 4096,
            "attn_config": {"alibi": True}},
    "gpt2": {"n_embd": 128, "n_head": 8, "n_layer": 4, "vocab_size": 500, "n_positions": 1024},
    "bert": {"hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 500,
             "max_position_embeddings": 1024},
    "modernbert": {"hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 500,
                   "local_attention": 48, "global_rope_theta": BASE, "local_rope_theta": 20_000.0},
    "t5": {"d_model": 128, "d_kv": 16, "num_heads": 8, "num_layers": 4, "vocab_size": 500},
    "umt5": {"d_model": 128, "d_kv": 16, "num_heads": 8, "num_layers": 4, "vocab_size": 500},
    "opt": {"hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 500,
            "max_position_embeddings": 1024},
}  # fmt: skip


MODEL_TYPES = (*ROTARY_CONFIGS, *OTHER_CONFIGS)


def config_of(name: str) -> dict[str, Any]:
    """A config of a model type with four layers or more, and heads of 16 channels."""
    if name in OTHER_CONFIGS:
        return {"model_type": name, **OTHER_CONFIGS[name]}
    own = ROTARY_CONFIGS[name]
    return {"model_type": name, **({} if own is LATENT else ROTARY), **own}


def load(folder: Path) -> Any:
    """The model of a probe."""
    kind = getattr(transformers, architecture_of(json.loads((folder / "config.json").read_text())).auto_class)
    return kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


@torch.no_grad()
def run(model: Any, folder: Path) -> dict[str, np.ndarray]:
    """The wanted rows of the logits of every prompt; prompts of one length in one batch."""
    prompts = json.loads((folder / "probe.json").read_text())["prompts"]
    answers: dict[str, np.ndarray] = {}
    for _, group in groupby(
        prompts,
        lambda prompt: (len(prompt["tokens"]), len(prompt.get("decoder_tokens", "")), prompt["position_ids"] is None),
    ):
        batch = list(group)
        tokens = torch.tensor([prompt["tokens"] for prompt in batch])
        places = {}
        if batch[0]["position_ids"] is not None:
            ids = torch.tensor([prompt["position_ids"] for prompt in batch])
            places["position_ids"] = ids if ids.ndim == 2 else ids.transpose(0, 1)  # coordinates before the batch
        if "decoder_tokens" in batch[0]:
            places["decoder_input_ids"] = torch.tensor([prompt["decoder_tokens"] for prompt in batch])
        cache = {} if model.config.model_type in ("bert", "modernbert") else {"use_cache": False}
        logits = model(tokens, **cache, **places).logits
        for prompt, rows in zip(batch, logits.numpy(), strict=True):
            answers[prompt["name"]] = rows[prompt["rows"]]
    return answers
