"""CTranslate2 as an engine: its converter reads the folder as it reads any of transformers, and its generator runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    step("importing its converter")
    import ctranslate2
    from ctranslate2.converters import TransformersConverter
    from prompts_in_batches import answers_in_batches

    step("converting the model")
    folder = Path(request["scratch"]) / "model"
    TransformersConverter(request["probe"]).convert(str(folder))
    step("loading the model")
    generator = ctranslate2.Generator(str(folder), device="cpu", compute_type="float32", intra_threads=1)
    step("running the prompts")

    def logits(tokens: list[list[int]]) -> np.ndarray:
        return np.array(generator.forward_batch(tokens))

    return {**answers_in_batches(request, logits), "engine": "ctranslate2", "version": ctranslate2.__version__}
