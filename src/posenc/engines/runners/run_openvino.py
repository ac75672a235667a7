"""OpenVINO as an engine: its frontend converts the model of transformers, and its compiler fuses the rotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    from importlib.metadata import version

    import openvino
    import torch
    import transformers
    from prompts_in_batches import answers_in_batches

    torch.set_num_threads(1)
    step("loading the model")
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(
        request["probe"], dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )
    model.eval()
    model.config.use_cache = False
    step("converting the model")
    ids = torch.zeros((1, 4), dtype=torch.long)
    converted = openvino.convert_model(model, example_input={"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    step("compiling the model")
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = openvino.Core().compile_model(converted, "CPU", options)
    step("running the prompts")

    def logits(tokens: list[list[int]]) -> np.ndarray:
        given = np.array(tokens, np.int64)
        return np.array(compiled({"input_ids": given, "attention_mask": np.ones_like(given)})[0])

    facts = {"engine": "openvino", "version": f"{version('openvino')} on transformers {transformers.__version__}"}
    return {**answers_in_batches(request, logits), **facts}
