"""Models of transformers in small, with fresh weights that are the same each time."""

from __future__ import annotations

from typing import Any

import torch
import transformers

SIZES = {"vocab_size": 32, "hidden_size": 48, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = SIZES | {"num_key_value_heads": 2}
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])
SLIDING = {"layer_types": ["sliding_attention", "full_attention"]}
PARTIAL = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}


def model(kind: str, **changes: Any) -> Any:
    """A model in evaluation. changes: fields of its config."""
    torch.manual_seed(0)
    made = {
        "Llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED | changes)),
        "Qwen3": lambda: transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(**GROUPED | {"head_dim": 16} | changes)
        ),
        "Gemma3": lambda: transformers.Gemma3ForCausalLM(
            transformers.Gemma3TextConfig(**GROUPED | {"head_dim": 16} | SLIDING | changes)
        ),
        "GPTNeoX": lambda: transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**SIZES | PARTIAL | changes)),
        "GPTJ": lambda: transformers.GPTJForCausalLM(
            transformers.GPTJConfig(vocab_size=32, n_embd=48, n_layer=2, n_head=4, rotary_dim=8, n_positions=64)
        ),
        "Glm4": lambda: transformers.Glm4ForCausalLM(
            transformers.Glm4Config(**GROUPED | {"head_dim": 16, "pad_token_id": 0} | changes)
        ),
        "Bert": lambda: transformers.BertForMaskedLM(
            transformers.BertConfig(**SIZES | {"max_position_embeddings": 64} | changes)
        ),
    }[kind]()
    return made.eval()
