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
    model: Any = getattr(transformers, request["auto_class"]).from_pretrained(
        request["probe"], dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )
    model.eval()
    for part in model.modules():  # the decoder of T5 has a config of its own
        getattr(part, "config", model.config).use_cache = False
    step("converting the model")
    ids = torch.zeros((1, 4), dtype=torch.long)
    names = ["input_ids", *(["decoder_input_ids"] if model.config.is_encoder_decoder else [])]
    given = {"attention_mask": torch.ones_like(ids), **dict.fromkeys(names, ids)}
    converted = openvino.convert_model(model, example_input=given)
    step("compiling the model")
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = openvino.Core().compile_model(converted, "CPU", options)
    step("running the prompts")

    def logits(*tokens: list[list[int]]) -> np.ndarray:
        ids = {name: np.array(one, np.int64) for name, one in zip(names, tokens, strict=True)}
        return np.array(compiled({**ids, "attention_mask": np.ones_like(ids["input_ids"])})[0])

    facts = {"engine": "openvino", "version": f"{version('openvino')} on transformers {transformers.__version__}"}
    return {**answers_in_batches(request, logits), **facts}
