"""Prompts of a probe for a model that is called as a function: those of one length in batches."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Tokens of a batch at most, beyond one prompt.
TOKENS = 1 << 13


def prompts_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Prompts in the probe's folder."""
    prompts: list[dict[str, Any]] = json.loads((Path(request["probe"]) / "probe.json").read_text())["prompts"]
    return prompts


def answers_in_batches(
    request: dict[str, Any], logits: Callable[..., np.ndarray], largest: int = TOKENS
) -> dict[str, np.ndarray]:
    """Collect the wanted logits of every prompt, calling `logits` on token ids (batch, length).

    A batch has `largest` prompts at most. Of a model with an encoder and a decoder, the function takes the token ids of
    both, and returns the decoder's logits.
    """
    answers = {}
    for batch in _batches(prompts_of(request), largest):
        inputs = [[prompt["tokens"] for prompt in batch]]
        if "decoder_tokens" in batch[0]:
            inputs.append([prompt["decoder_tokens"] for prompt in batch])
        for prompt, rows in zip(batch, logits(*inputs), strict=True):
            answers[prompt["name"]] = np.array(rows[prompt["rows"]], np.float32)
    return answers


def _lengths(prompt: dict[str, Any]) -> tuple[int, int]:
    """Number of tokens of a prompt, and of its decoder tokens (0 without a decoder)."""
    return len(prompt["tokens"]), len(prompt.get("decoder_tokens", ()))


def _batches(prompts: list[dict[str, Any]], largest: int) -> Iterator[list[dict[str, Any]]]:
    for lengths, alike in itertools.groupby(prompts, _lengths):
        waiting = list(alike)
        size = min(max(TOKENS // max(*lengths, 1), 1), largest)
        for start in range(0, len(waiting), size):
            yield waiting[start : start + size]
