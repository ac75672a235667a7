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
    logits = _LOADED[request["auto_class"]](folder, request)
    step("running the prompts")
    facts = {"engine": "mobius", "version": f"{version('mobius-onnx')} on onnxruntime {onnxruntime.__version__}"}
    return {**answers_in_batches(request, logits), **facts}


def _graph(path: Path) -> Callable[..., np.ndarray]:
    """Load an ONNX graph as a function from named inputs to its first output, with empty key-value caches."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs, output = session.get_inputs(), session.get_outputs()[0].name

    def run(**given: np.ndarray) -> np.ndarray:
        batch, length = given["input_ids"].shape
        given = {
            "attention_mask": np.ones((batch, length), np.int64),
            "position_ids": np.tile(np.arange(length), (batch, 1)),
            "token_type_ids": np.zeros((batch, length), np.int64),
            **given,
        }
        for one in inputs:
            if one.name.startswith("past_key_values."):
                given[one.name] = np.zeros((batch, one.shape[1], 0, one.shape[3]), np.float32)
        return np.array(session.run([output], {one.name: given[one.name] for one in inputs})[0])

    return run


def _decoder(folder: Path, request: dict[str, Any]) -> Callable[..., np.ndarray]:
    graph = _graph(folder / "model.onnx")
    return lambda tokens: graph(input_ids=np.array(tokens, np.int64))


def _encoder(folder: Path, request: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Function from token ids to an encoder's masked-token logits: the probe's head on the graph's last states."""
    from masked_prediction import head_of

    graph, head = _graph(folder / "model.onnx"), head_of(request)
    return lambda tokens: head(graph(input_ids=np.array(tokens, np.int64)))


def _both(folder: Path, request: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Function from encoder and decoder token ids to logits, with one graph for each of both."""
    encoder, decoder = (_graph(folder / part / "model.onnx") for part in ("encoder", "decoder"))

    def logits(tokens: list[list[int]], decoder_tokens: list[list[int]]) -> np.ndarray:
        states = encoder(input_ids=np.array(tokens, np.int64))
        return decoder(input_ids=np.array(decoder_tokens, np.int64), encoder_hidden_states=states)

    return logits


_LOADED: dict[str, Callable[[Path, dict[str, Any]], Callable[..., np.ndarray]]] = {
    "AutoModelForCausalLM": _decoder,
    "AutoModelForMaskedLM": _encoder,
    "AutoModelForSeq2SeqLM": _both,
}
