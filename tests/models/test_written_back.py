"""What was read from a config of either spelling is written into it in the present one, and reads back as itself."""

from __future__ import annotations

from typing import Any

import pytest

from posenc.models import from_config, to_config

LLAMA31 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {
    "rope_type": "yarn",
    "factor": 40.0,
    "original_max_position_embeddings": 4096,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
LONG = {
    "rope_type": "longrope",
    "short_factor": [1.0] * 8,
    "long_factor": [3.5] * 8,
    "original_max_position_embeddings": 4096,
}
CONFIGS: list[dict[str, Any]] = [
    {"model_type": "llama", "rope_theta": 5e5, "rope_scaling": LLAMA31, "max_position_embeddings": 131_072},
    {"model_type": "qwen2", "rope_theta": 1e6, "use_sliding_window": True, "sliding_window": 64,
        "max_window_layers": 3},
    {"model_type": "gpt_oss"},
    {"model_type": "deepseek_v3", "rope_scaling": YARN},
    {"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_theta": 1e6},
    {"model_type": "olmo3", "rope_theta": 7e5},
    {"model_type": "gpt_neox", "rotary_pct": 0.25, "hidden_size": 256, "num_attention_heads": 4},
    {"model_type": "smollm3", "num_hidden_layers": 8},
    {"model_type": "phi3", "head_dim": 16, "rope_scaling": LONG, "original_max_position_embeddings": 4096,
     "max_position_embeddings": 131_072},
    {"model_type": "glm4", "rope_theta": 2e4},
    {"model_type": "exaone4", "sliding_window": 128},
    {"model_type": "beam"},
    {"model_type": "ministral3"},
]  # fmt: skip


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config["model_type"])
def test_round_trip(config: dict[str, Any]):
    found = from_config(config)
    again = from_config(to_config(found, config))
    assert [(g.attention, g.layers, g.encodings, g.logit_factor) for g in again.groups] == [
        (g.attention, g.layers, g.encodings, g.logit_factor) for g in found.groups
    ]
