"""vLLM as an engine: its package of rotary embeddings, called as its models call it; all else of vLLM is a stub.

The stubs are for compiled operators, configuration and logging. Tables and rotation are computed by vLLM's own classes,
in `forward_native`. Which arguments a model hands over is transcribed from vllm/model_executor/models of 0.33.0.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rotated_scores import ADJACENT, Rotate, answered, head_width, loaded_config, parameters_by_layer, shaped_for
from stubs import stub_instead

PACKAGE = "vllm.model_executor.layers.rotary_embedding"


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Scores of every layer that rotates."""
    from importlib.metadata import version

    config = loaded_config(request)
    step("importing vllm's rotary_embedding")
    get_rope = _rope_package(Path(request["site"]))
    step("calling get_rope")
    made: dict[str, Rotate] = {}
    rotates = {}
    for layer, parameters in parameters_by_layer(config, request["layers"]).items():
        key = repr(parameters)
        made[key] = made.get(key) or _rotate(get_rope, config, parameters)
        rotates[layer] = made[key]
    return answered(rotates, request, engine="vllm", version=version("vllm"))


def _rope_package(site: Path) -> Any:
    """Import vLLM's rotary_embedding package with the rest of vLLM as stubs, and return its get_rope."""
    import torch

    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE].get_rope
    stub_instead("vllm", real=PACKAGE)
    import vllm.model_executor.custom_op as custom_op

    class Operator(torch.nn.Module):
        """Stand-in for vLLM's CustomOp that registers nothing and leaves the PyTorch version to run."""

        register = staticmethod(lambda *_, **__: lambda kind: kind)
        enabled = classmethod(lambda cls: False)

        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__()

    custom_op.CustomOp = custom_op.PluggableLayer = Operator
    import vllm.model_executor.layers  # noqa: F401

    root = site.joinpath(*PACKAGE.split("."))
    spec = importlib.util.spec_from_file_location(PACKAGE, root / "__init__.py", submodule_search_locations=[str(root)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{PACKAGE} is not where vllm 0.33.0 has it")
    module = sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_rope


def _serve(length: int) -> None:
    """Set max_model_len in vLLM's stubbed config, by which LongRoPE chooses its short or long factors once."""
    import vllm.config

    vllm.config.get_current_vllm_config.return_value.model_config.max_model_len = length


def _rotate(get_rope: Any, config: Any, parameters: dict[str, Any]) -> Rotate:
    import torch

    head = head_width(config)
    if config.model_type == "gpt_oss":
        taken = ("rope_theta", "factor", "original_max_position_embeddings", "beta_fast", "beta_slow")
        own = {"rope_type": "yarn", "truncate": parameters.get("truncate", True)}
        parameters = {**{key: parameters[key] for key in taken}, **own}
    if config.model_type in ("deepseek_v2", "deepseek_v3") and parameters["rope_type"] != "default":
        parameters = {**parameters, "rope_type": "deepseek_yarn"}
    _serve(config.max_position_embeddings)
    rope = get_rope(
        head, max_position=config.max_position_embeddings, is_neox_style=config.model_type not in ADJACENT,
        rope_parameters=parameters, dtype=torch.float32,
    )  # fmt: skip

    def rotate(vectors: np.ndarray, positions: np.ndarray) -> np.ndarray:
        shaped = shaped_for(torch.as_tensor(vectors), rope)
        forward = getattr(rope, "forward_native", rope.forward)
        rotated, _ = forward(torch.as_tensor(positions), shaped, shaped.clone())
        return np.asarray(rotated.numpy()).reshape(vectors.shape)

    return rotate
