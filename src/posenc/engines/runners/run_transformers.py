"""Transformers as an engine: the whole model, loaded as everybody loads one, in float32 on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    import torch
    import transformers
    from prompts_in_batches import answers_in_batches

    torch.set_num_threads(int(request.get("threads", 1)))
    step("loading the model")
    model: Any = getattr(transformers, request["auto_class"]).from_pretrained(
        request["probe"], dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )
    model.eval()
    model.config.use_cache = False
    step("running the prompts")

    def logits(tokens: list[list[int]], decoder_tokens: list[list[int]] | None = None) -> np.ndarray:
        named = {} if decoder_tokens is None else {"decoder_input_ids": torch.tensor(decoder_tokens)}
        with torch.no_grad():
            return np.asarray(model(torch.tensor(tokens), **named).logits.float().numpy())

    version = f"{transformers.__version__} on torch {torch.__version__}"
    return {**answers_in_batches(request, logits), "engine": "transformers", "version": version}
