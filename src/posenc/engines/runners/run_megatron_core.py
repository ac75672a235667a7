"""Megatron-core as an engine: its rotary embeddings, with the arguments that Megatron Bridge's converters give them.

The classes ask CUDA once for the number of its device, which is answered with the CPU. Llama 3's scaling takes its
factor alone, and YaRN's numbers come from the file; `correction_range_round_to_int` is the file's `truncate`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from rotated_scores import ADJACENT, Rotate, answered, head_width, loaded_config, parameters_by_layer

LATENT = ("deepseek_v2", "deepseek_v3")


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Scores of every layer that rotates."""
    from importlib.metadata import version

    config = loaded_config(request)
    step("importing megatron.core's embeddings")
    import torch

    with patch("torch.cuda.current_device", lambda: torch.device("cpu")):
        made: dict[str, Rotate] = {}
        rotates = {}
        for layer, parameters in parameters_by_layer(config, request["layers"]).items():
            step(f"making the embedding of layer {layer}")
            key = repr(parameters)
            made[key] = made.get(key) or _rotate(config, parameters, max(request["distances"]) + 1)
            rotates[layer] = made[key]
        return answered(rotates, request, engine="megatron-core", version=version("megatron-core"))


def _rotate(config: Any, parameters: dict[str, Any], length: int) -> Rotate:
    import torch
    from megatron.core.models.common.embeddings.rope_utils import _apply_rotary_pos_emb_bshd

    interleaved = config.model_type in ADJACENT and config.model_type not in LATENT
    table, factor = _table(head_width(config), parameters, length, interleaved)

    def rotate(vectors: np.ndarray, positions: np.ndarray) -> np.ndarray:
        rotated = _apply_rotary_pos_emb_bshd(
            torch.as_tensor(vectors)[:, None, None], table[positions], mscale=factor, rotary_interleaved=interleaved,
            multi_latent_attention=config.model_type in LATENT,
        )  # fmt: skip
        return np.asarray(rotated.numpy()).reshape(vectors.shape)

    return rotate


def _table(head: int, parameters: dict[str, Any], length: int, interleaved: bool) -> tuple[Any, float]:
    """Angle table (length, 1, 1, channels) of the scaling in the file, and its factor on cosines and sines."""
    from megatron.core.models.common.embeddings.rotary_pos_embedding import RotaryEmbedding
    from megatron.core.models.common.embeddings.yarn_rotary_pos_embedding import YarnRotaryEmbedding

    kind, share = parameters.get("rope_type", "default"), parameters.get("partial_rotary_factor", 1.0)
    base = parameters["rope_theta"]
    if kind == "yarn":
        stated = {
            "beta_fast": "beta_fast", "beta_slow": "beta_slow", "mscale": "mscale", "mscale_all_dim": "mscale_all_dim",
            "truncate": "correction_range_round_to_int",
        }  # fmt: skip
        more = {theirs: parameters[ours] for ours, theirs in stated.items() if parameters.get(ours) is not None}
        embedding = YarnRotaryEmbedding(
            head, share, rotary_base=base, scaling_factor=parameters["factor"],
            original_max_position_embeddings=parameters["original_max_position_embeddings"],
            use_cpu_initialization=True, **more,
        )  # fmt: skip
        angles, factor = embedding.get_emb(length)
        return angles, float(factor)
    scaling = {"rope_scaling": True, "rope_scaling_factor": parameters["factor"]} if kind == "llama3" else {}
    if kind == "linear":
        scaling = {"seq_len_interpolation_factor": parameters["factor"]}
    if kind not in ("default", "linear", "llama3"):
        raise ValueError(f"megatron-core has no {kind} scaling")
    plain = RotaryEmbedding(
        head, share, rotary_interleaved=interleaved, rotary_base=base, use_cpu_initialization=True, **scaling
    )
    return plain.get_emb(length) if hasattr(plain, "get_emb") else plain(length), 1.0
