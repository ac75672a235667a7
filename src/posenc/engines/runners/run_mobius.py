"""Mobius as an engine: it builds a graph of the folder, with ONNX's own RotaryEmbedding, and ONNX Runtime runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    from importlib.metadata import version

    step("importing its builder")
    import mobius
    import onnxruntime
    from prompts_in_batches import answers_in_batches

    step("building the graph")
    folder = Path(request["scratch"])
    package = mobius.build(request["probe"], dtype="f32")
    package.save(str(folder))
    step("loading the graph")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    step("running the prompts")

    def logits(tokens: list[list[int]]) -> np.ndarray:
        return np.array(session.run(["logits"], _inputs(session, np.array(tokens, np.int64)))[0])

    facts = {"engine": "mobius", "version": f"{version('mobius-onnx')} on onnxruntime {onnxruntime.__version__}"}
    return {**answers_in_batches(request, logits), **facts}


def _inputs(session: Any, tokens: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs of the graph: tokens, and a cache that is empty."""
    batch, length = tokens.shape
    given = {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "position_ids": np.tile(np.arange(length), (batch, 1)),
    }
    for one in session.get_inputs():
        if one.name.startswith("past_key_values."):
            given[one.name] = np.zeros((batch, one.shape[1], 0, one.shape[3]), np.float32)
    return {one.name: given[one.name] for one in session.get_inputs()}
