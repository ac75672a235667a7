"""SGLang as an engine: its get_rope, called as its models call it; packages that it imports besides are stubs.

Tables and rotation are computed by SGLang's own classes, in `forward_native`. Which arguments a model hands over is
transcribed from sglang/srt/models of 0.5.23.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from rotated_scores import ADJACENT, Rotate, answered, head_width, loaded_config, parameters_by_layer, shaped_for
from stubs import stub

#: Packages that are imported, and that no rotation calls.
UNUSED = ("aiohttp", "vllm")


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Scores of every layer that rotates."""
    from importlib.metadata import version

    config = loaded_config(request)
    step("importing sglang's rotary_embedding")
    if "sglang" not in sys.modules:
        stub(*UNUSED)
    from sglang.srt.layers.rotary_embedding import get_rope, rope_variant

    rope_variant.get_device = lambda: "cpu"  # DeepSeek's class asks for an accelerator

    step("calling get_rope")
    made: dict[str, Rotate] = {}
    rotates = {}
    for layer, parameters in parameters_by_layer(config, request["layers"]).items():
        key = repr(parameters)
        made[key] = made.get(key) or _rotate(get_rope, config, parameters)
        rotates[layer] = made[key]
    return answered(rotates, request, engine="sglang", version=version("sglang"))


def _rotate(get_rope: Any, config: Any, parameters: dict[str, Any]) -> Rotate:
    import torch

    head = head_width(config)
    base, partial = parameters.pop("rope_theta", 10000), parameters.pop("partial_rotary_factor", 1.0)
    scaling = None if parameters.get("rope_type", "default") == "default" else parameters
    if config.model_type in ("deepseek_v2", "deepseek_v3") and scaling is not None:
        scaling = {**scaling, "rope_type": "deepseek_yarn"}
    rope = get_rope(
        head, rotary_dim=head, max_position=config.max_position_embeddings, base=base, rope_scaling=scaling,
        is_neox_style=config.model_type not in ADJACENT, partial_rotary_factor=partial, dtype=torch.float32,
    )  # fmt: skip

    def rotate(vectors: np.ndarray, positions: np.ndarray) -> np.ndarray:
        shaped = shaped_for(torch.as_tensor(vectors), rope)
        forward = getattr(rope, "forward_native", rope.forward)
        rotated, _ = forward(torch.as_tensor(positions), shaped, shaped.clone())
        return np.asarray(rotated.numpy()).reshape(vectors.shape)

    return rotate
