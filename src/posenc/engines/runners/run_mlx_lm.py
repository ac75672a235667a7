"""mlx-lm as an engine: the whole model, loaded from the folder, in float32 on the CPU or the GPU of a Mac."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    from importlib.metadata import version

    import mlx.core as mx
    from mlx_lm.utils import load_model
    from prompts_in_batches import answers_in_batches

    mx.disable_compile()  # it would call a compiler to fuse elementwise operations
    step("loading the model")
    folder = Path(request["probe"])
    if json.loads((folder / "config.json").read_text())["model_type"] == "gpt_oss":
        folder = _experts_renamed(folder, Path(request["scratch"]))
    model, _ = load_model(folder)
    step("running the prompts")

    def logits(tokens: list[list[int]]) -> np.ndarray:
        return np.array(model(mx.array(tokens)).astype(mx.float32))

    return {**answers_in_batches(request, logits), "engine": "mlx-lm", "version": version("mlx-lm")}


def _experts_renamed(folder: Path, target: Path) -> Path:
    """Copy the probe with gpt-oss's experts, all zero, under the tensor names of mlx-lm's own converter."""
    import mlx.core as mx

    target.mkdir()
    shutil.copy(folder / "config.json", target)
    tensors = {}
    for name, tensor in mx.load(str(folder / "model.safetensors")).items():
        start, found, part = name.partition(".experts.gate_up_proj")
        if found:
            whole = tensor if part else tensor.swapaxes(1, 2)
            for one, half in (("gate_proj", whole[:, ::2]), ("up_proj", whole[:, 1::2])):
                tensors[f"{start}.experts.{one}.{'bias' if part else 'weight'}"] = half
        elif name.endswith(".experts.down_proj"):
            tensors[f"{name}.weight"] = tensor.swapaxes(1, 2)
        elif name.endswith(".experts.down_proj_bias"):
            tensors[name.replace("_bias", ".bias")] = tensor
        else:
            tensors[name] = tensor
    mx.save_safetensors(str(target / "model.safetensors"), tensors)
    return target
