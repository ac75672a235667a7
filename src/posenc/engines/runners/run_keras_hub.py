"""keras-hub as an engine: the whole backbone, converted from the folder as `from_preset` does, on the torch backend."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    os.environ["KERAS_BACKEND"] = "torch"
    from importlib.metadata import version

    import keras
    import keras_hub
    import torch
    from masked_prediction import head_of
    from prompts_in_batches import answers_in_batches

    torch.set_grad_enabled(False)
    step("converting the model")
    folder = Path(request["probe"])
    if json.loads((folder / "config.json").read_text())["model_type"] == "gpt_oss":
        folder = _experts_in_blocks(folder, Path(request["scratch"]))
    backbone = keras_hub.models.Backbone.from_preset(str(folder), dtype="float32")
    step("running the prompts")

    def states(tokens: list[list[int]]) -> Any:
        ids = np.array(tokens)
        inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
        return backbone({name: inputs[name] for name in backbone.input})

    if request["auto_class"] == "AutoModelForMaskedLM":
        head = head_of(request)

        def logits(tokens: list[list[int]]) -> np.ndarray:
            return head(keras.ops.convert_to_numpy(states(tokens)["sequence_output"]))
    else:

        def logits(tokens: list[list[int]]) -> np.ndarray:
            made = backbone.token_embedding(states(tokens), reverse=True)
            return np.asarray(keras.ops.convert_to_numpy(made))

    return {**answers_in_batches(request, logits), "engine": "keras-hub", "version": version("keras-hub")}


def _experts_in_blocks(folder: Path, target: Path) -> Path:
    """Copy the probe with gpt-oss's experts, all zero, in 4-bit blocks with scales as released checkpoints have."""
    from safetensors.numpy import load_file, save_file

    target.mkdir()
    shutil.copy(folder / "config.json", target)
    tensors = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        if name.endswith((".gate_up_proj", ".down_proj")):
            experts, inputs, outputs = tensor.shape
            tensors[f"{name}_blocks"] = np.zeros((experts, outputs, inputs // 32, 16), np.uint8)
            tensors[f"{name}_scales"] = np.zeros((experts, outputs, inputs // 32), np.uint8)
        else:
            tensors[name] = tensor
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    return target
