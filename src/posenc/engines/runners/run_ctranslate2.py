"""CTranslate2 as an engine: its converter reads the folder as it reads any of transformers, and its generator runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    step("importing its converter")
    import ctranslate2
    import transformers
    from ctranslate2.converters import TransformersConverter
    from prompts_in_batches import answers_in_batches

    step("converting the model")
    folder = Path(request["scratch"]) / "model"
    probe = _with_padding(Path(request["probe"]), Path(request["scratch"]) / "file")
    TransformersConverter(str(probe)).convert(str(folder))
    step("loading the model")
    generator = ctranslate2.Generator(str(folder), device="cpu", compute_type="float32", intra_threads=1)
    step("running the prompts")

    def logits(tokens: list[list[int]]) -> np.ndarray:
        return np.array(generator.forward_batch(tokens))

    facts = {"version": f"{ctranslate2.__version__} on transformers {transformers.__version__}"}
    return {**answers_in_batches(request, logits), "engine": "ctranslate2", **facts}


def _with_padding(probe: Path, target: Path) -> Path:
    """The folder with a token for padding: where none is stated, some tokenizers add one that the model has not."""
    shutil.copytree(probe, target)
    settings = json.loads((probe / "tokenizer_config.json").read_text())
    settings["pad_token"] = settings["eos_token"]
    (target / "tokenizer_config.json").write_text(json.dumps(settings))
    return target
