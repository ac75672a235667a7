"""torchtitan as an engine: its RoPE modules, configured from the file as its model configs are written by hand.

torchtitan reads no config.json. The numbers of the file are put into `RoPE.Config`; its Llama 3 and DeepSeek use
ComplexRoPE, whose neighbours are pairs, Qwen 3 and gpt-oss CosSinRoPE. Weights of Llama 3 are permuted by its state
dict adapter, and queries here by that function of the adapter. YaRN's amplitude is left to the softmax scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from rotated_scores import Rotate, answered, head_width, loaded_config, parameters_by_layer

COMPLEX = ("llama", "deepseek_v2", "deepseek_v3")


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Scores of every layer that rotates."""
    from importlib.metadata import version

    config = loaded_config(request)
    step("importing torchtitan's rope")
    made: dict[str, Rotate] = {}
    rotates = {}
    by_layer = parameters_by_layer(config, request["layers"])
    parameters = list(by_layer.values())
    for layer, own in by_layer.items():
        key = repr(own)
        made[key] = made.get(key) or _rotate(config, own, max(request["distances"]) + 1)
        rotates[layer] = made[key]
    # gpt_oss/model.py of 0.3.0 multiplies its softmax scale by (0.1 ln(factor) + 1)², in place of the rotation. What
    # deepseek_v3/model.py does so is no part of the rotation in the file either.
    factor = next((one["factor"] for one in parameters if one.get("rope_type") == "yarn"), 1.0)
    softmax = (0.1 * math.log(factor) + 1) ** 2 if config.model_type == "gpt_oss" else 1.0
    facts = {"engine": "torchtitan", "version": version("torchtitan"), "softmax_factor": softmax}
    return answered(rotates, request, **facts)


def _rotate(config: Any, parameters: dict[str, Any], length: int) -> Rotate:
    import torch
    from torchtitan.models.common.rope import ComplexRoPE, CosSinRoPE

    head = head_width(config)
    kind = ComplexRoPE if config.model_type in COMPLEX else CosSinRoPE
    rope = kind.Config(dim=head, max_seq_len=length, theta=parameters["rope_theta"], **_scaling(parameters)).build()
    order = _permutation(head) if config.model_type == "llama" else np.arange(head)

    def rotate(vectors: np.ndarray, positions: np.ndarray) -> np.ndarray:
        shaped = torch.as_tensor(np.ascontiguousarray(vectors[:, order]))[None, :, None]
        rotated, _ = rope(shaped, shaped, torch.as_tensor(positions)[None])
        back = np.empty_like(vectors)
        back[:, order] = rotated.numpy().reshape(vectors.shape)
        return back

    return rotate


def _permutation(head: int) -> np.ndarray:
    """Channel order of a head after torchtitan's Llama adapter has permuted the rows of query and key weights."""
    import torch
    from torchtitan.models.llama3.state_dict_adapter import Llama3StateDictAdapter

    rows = torch.arange(head, dtype=torch.float32)[:, None]
    permuted = Llama3StateDictAdapter._reverse_permute(None, rows, 1, head, 1)  # type: ignore[arg-type]
    return np.asarray(permuted[:, 0].numpy()).astype(int)


def _scaling(parameters: dict[str, Any]) -> dict[str, Any]:
    """The file's scaling as fields of RoPE.Config."""
    kind = parameters.get("rope_type", "default")
    if kind == "default":
        return {}
    if kind == "llama3":
        alike = ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
        own = {"scaling": "llama", "scaling_factor": parameters["factor"]}
        return {**own, **{name: parameters[name] for name in alike}}
    if kind == "yarn":
        names = {"factor": "rope_factor", "beta_fast": "beta_fast", "beta_slow": "beta_slow", "truncate": "truncate",
                 "original_max_position_embeddings": "original_seq_len"}  # fmt: skip
        return {"scaling": "yarn", **{theirs: parameters[ours] for ours, theirs in names.items() if ours in parameters}}
    raise ValueError(f"torchtitan has no {kind} scaling")
