"""Every rotary class of transformers 5.23.0: verified, or the reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def _lines(name: str) -> tuple[str, ...]:
    return tuple((HERE / name).read_text(encoding="utf-8").splitlines())


def _classes(cases: tuple[str, ...]) -> dict[str, list[str]]:
    """The model types that each class is compared for."""
    types: dict[str, list[str]] = {}
    for case in cases:
        name, model_type = case.split()
        types.setdefault(name, []).append(model_type)
    return types


#: "folder.Class model_type": classes whose frequencies, tables and rotation are compared, as the config of a model type
#: builds them: for its own defaults and for configs drawn at random.
CASES = _lines("verified.txt")
#: The same for classes that test_models_by_hand.py asks in ways of their own.
CASES_BY_HAND = _lines("by_hand.txt")
VERIFIED, BY_HAND = _classes(CASES), _classes(CASES_BY_HAND)
TYPES = VERIFIED | BY_HAND
#: Model types compared with functions that belong to no class of their own.
LIVE = (
    "codegen", "gptj", "roformer",
    "falcon_mamba", "glm5_next_text", "jamba", "kimi_linear", "mamba", "mamba2", "moonshine_streaming_encoder",
    "moshi_depth", "nemotron_h", "neucodec", "qwen2_5_omni_dit", "rwkv", "xcodec2", "xlstm", "zamba",
)  # fmt: skip
#: Why the others are not.
REASONS = dict(line.split(": ", 1) for line in _lines("reasons.txt"))
#: What a config needs before its model rotates, or can be built, at all.
SETTINGS: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1, 3]},
    "cohere_compass_text": {
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 5e4}, "full_attention": None},
        "layer_types": ["sliding_attention", "full_attention"],
        "num_hidden_layers": 2,
    },
    # Their own defaults have sections of another width.
    "glm4v_text": {"partial_rotary_factor": 0.5},
    "glm4v_moe_text": {"head_dim": 128},
    "glm_image_text": {"partial_rotary_factor": 0.5},
    "qwen3_omni_moe_text": {"head_dim": 128},
    # An indexer as wide as a head: any share of the channels that is drawn fits in both.
    "deepseek_v4": {"index_head_dim": 512},
    # Its own defaults give heads of 42 channels, half of which is odd.
    "glm4_moe": {"head_dim": 128},
    "granitemoehybrid": {
        "position_embedding_type": "rope",
        "num_hidden_layers": 2,
        "layer_types": ["full_attention", "linear_attention"],
    },
    "zamba2": {"use_mem_rope": True},
}
