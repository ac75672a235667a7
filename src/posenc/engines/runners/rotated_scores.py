"""Query-key scores by an engine's own rotation functions, and the config values that its models pass to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Rotates vectors (n, channels) by positions (n,).
Rotate = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: Model types whose code pairs neighbours.
ADJACENT = frozenset({"cohere", "cohere2", "glm", "glm4", "deepseek_v2", "deepseek_v3"})


def scores_of(rotate: Rotate, request: dict[str, Any]) -> np.ndarray:
    """Rotate each unit query by each distance, and score it with a rotated key of ones at 0: (channels, distances)."""
    channels, distances = request["channels"], np.array(request["distances"])
    units = np.tile(np.eye(channels, dtype=np.float32), (len(distances), 1))
    queries = np.asarray(rotate(units, np.repeat(distances, channels)), np.float64)
    key = np.asarray(rotate(np.ones((1, channels), np.float32), np.zeros(1, int)), np.float64)[0]
    return np.asarray((queries @ key).reshape(len(distances), channels).T)


def shaped_for(vectors: Any, rope: Any) -> Any:
    """Shape vectors (n, channels) for a rope class: (n, 1, channels) if it has `forward_native`, else unchanged."""
    return vectors[:, None] if hasattr(rope, "forward_native") else vectors


def answered(rotates: dict[int, Rotate], request: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """Assemble the answer: scores of every rotating layer, computed once for each function, and `facts`."""
    known: dict[int, np.ndarray] = {}
    for rotate in rotates.values():
        if id(rotate) not in known:
            known[id(rotate)] = scores_of(rotate, request)
    return {**{f"layer_{layer}": known[id(rotate)] for layer, rotate in rotates.items()}, **facts}


def loaded_config(request: dict[str, Any]) -> Any:
    """Config of the probe, as transformers loads it for the engine."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(request["probe"], local_files_only=True)


def rotating_layers(config: Any, layers: int) -> list[int]:
    """List the layers that rotate: by `no_rope_layers`; Cohere 2 and EXAONE 4 only in sliding-window layers."""
    stated = getattr(config, "no_rope_layers", None)
    kinds = getattr(config, "layer_types", None) or [""] * layers
    windows_alone = config.model_type in ("cohere2", "exaone4") and getattr(config, "sliding_window", None)
    return [
        layer
        for layer in range(layers)
        if (stated[layer] if stated else True) and not (windows_alone and kinds[layer] == "full_attention")
    ]


def parameters_by_layer(config: Any, layers: int) -> dict[int, dict[str, Any]]:
    """Map each rotating layer to its rope_parameters, taken by layer type where they are nested."""
    held = dict(config.rope_parameters)
    kinds = getattr(config, "layer_types", None) or [""] * layers
    nested = any(isinstance(value, dict) for value in held.values())
    return {layer: dict(held[kinds[layer]]) if nested else dict(held) for layer in rotating_layers(config, layers)}


def head_width(config: Any) -> int:
    """Return the head width that the model code passes to its rotation: qk_rope_head_dim, head_dim or computed."""
    latent = getattr(config, "qk_rope_head_dim", None)
    stated = getattr(config, "head_dim", None)
    return int(latent or stated or config.hidden_size // config.num_attention_heads)
