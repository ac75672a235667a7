"""Every rotary class of transformers 5.23.0: verified, or the reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Classes whose frequencies, tables and rotation are compared, for their own defaults and for configs drawn at random.
VERIFIED = frozenset((HERE / "verified.txt").read_text(encoding="utf-8").split())
#: Why the others are not.
REASONS = dict(
    line.split(": ", 1) for line in (HERE / "reasons.txt").read_text(encoding="utf-8").splitlines() if line.strip()
)
#: What a class needs before it rotates, or can be built, at all.
SETTINGS: dict[str, dict[str, Any]] = {
    # Its own defaults give heads of 42 channels, half of which is odd.
    "glm4_moe.Glm4MoeRotaryEmbedding": {"head_dim": 128},
    "granitemoehybrid.GraniteMoeHybridRotaryEmbedding": {
        "position_embedding_type": "rope",
        "num_hidden_layers": 2,
        "layer_types": ["full_attention", "linear_attention"],
    },
    "zamba2.Zamba2RotaryEmbedding": {"use_mem_rope": True},
}
