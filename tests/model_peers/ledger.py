"""Every rotary class of transformers 5.23.0: verified, or the reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def _listed(name: str) -> dict[str, str]:
    """Classes, each with the model type whose config builds it."""
    return dict(line.split() for line in (HERE / name).read_text(encoding="utf-8").splitlines())


#: Classes whose frequencies, tables and rotation are compared, for their own defaults and for configs drawn at random.
TYPES = _listed("verified.txt")
VERIFIED = frozenset(TYPES)
#: Classes that test_models_by_hand.py asks in ways of their own.
TYPES_BY_HAND = _listed("by_hand.txt")
BY_HAND = frozenset(TYPES_BY_HAND)
#: Why the others are not.
REASONS = dict(
    line.split(": ", 1) for line in (HERE / "reasons.txt").read_text(encoding="utf-8").splitlines() if line.strip()
)
#: What a class needs before it rotates, or can be built, at all.
SETTINGS: dict[str, dict[str, Any]] = {
    "cohere_compass.CohereCompassRotaryEmbedding": {
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 5e4}, "full_attention": None},
        "layer_types": ["sliding_attention", "full_attention"],
        "num_hidden_layers": 2,
    },
    # Their own defaults have sections of another width.
    "glm4v.Glm4vTextRotaryEmbedding": {"partial_rotary_factor": 0.5},
    "glm4v_moe.Glm4vMoeTextRotaryEmbedding": {"head_dim": 128},
    "glm_image.GlmImageTextRotaryEmbedding": {"partial_rotary_factor": 0.5},
    "qwen3_omni_moe.Qwen3OmniMoeThinkerTextRotaryEmbedding": {"head_dim": 128},
    "qwen3_omni_moe.Qwen3OmniMoeTalkerRotaryEmbedding": {"head_dim": 128},
    # Its own defaults give heads of 42 channels, half of which is odd.
    "glm4_moe.Glm4MoeRotaryEmbedding": {"head_dim": 128},
    "granitemoehybrid.GraniteMoeHybridRotaryEmbedding": {
        "position_embedding_type": "rope",
        "num_hidden_layers": 2,
        "layer_types": ["full_attention", "linear_attention"],
    },
    "zamba2.Zamba2RotaryEmbedding": {"use_mem_rope": True},
}
