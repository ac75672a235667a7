"""ONNX Runtime GenAI as an engine: its model builder makes a graph of the folder, and its generator runs it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Prompts that its generator takes at once.
LARGEST_BATCH = 32


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    from importlib.metadata import version

    step("importing its model builder")
    import onnxruntime_genai
    from prompts_in_batches import answers_in_batches

    step("building the graph")
    scratch = Path(request["scratch"])
    folder = _built(_with_class(request, scratch / request["model_type"]), scratch)  # errors name the folder
    room = _least_room(folder)
    step("loading the graph")
    model = onnxruntime_genai.Model(str(folder))
    step("running the prompts")

    def logits(tokens: list[list[int]]) -> np.ndarray:
        options = onnxruntime_genai.GeneratorParams(model)
        options.set_search_options(max_length=max(len(tokens[0]) + 1, room), batch_size=len(tokens))
        generator = onnxruntime_genai.Generator(model, options)
        generator.append_tokens(np.array(tokens, np.int32))
        return np.array(generator.get_output("logits"))

    facts = {"engine": "onnxruntime-genai", "version": version("onnxruntime-genai")}
    return {**answers_in_batches(request, logits, LARGEST_BATCH), **facts}


def _built(source: Path, scratch: Path) -> Path:
    """Build the graph with the model builder, as its command line would, and return its folder."""
    import onnxruntime_genai.models

    sys.path.insert(0, str(Path(onnxruntime_genai.models.__file__).parent))  # it imports its own files by bare names
    import builder

    whole = (None, str(source), str(scratch / "graph"), "fp32", "cpu", str(scratch / "cache"))
    builder.create_model(*whole, **builder.parse_extra_options(*whole, []))
    return scratch / "graph"


def _least_room(folder: Path) -> int:
    """Smallest cache length in tokens that the model accepts: its sliding window + 1, at most its context length."""
    model = json.loads((folder / "genai_config.json").read_text())["model"]
    window = int(model["decoder"].get("sliding_window", {}).get("window_size", 0))
    return min(window + 1, int(model["context_length"]))


def _with_class(request: dict[str, Any], target: Path) -> Path:
    """Copy the probe with `architectures` in its config.json, by which the builder chooses its code."""
    import transformers

    shutil.copytree(request["probe"], target)
    config = json.loads((target / "config.json").read_text())
    known: Any = getattr(transformers, request["auto_class"])
    config["architectures"] = [known._model_mapping[transformers.CONFIG_MAPPING[config["model_type"]]].__name__]
    (target / "config.json").write_text(json.dumps(config))
    return target
