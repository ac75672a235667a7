"""Logits of masked tokens from an encoder's last states, for engines that return these alone.

Positions are in the states. What follows is the head of the probe, by its own weights: a projection, GELU, a norm and
the output's matrix, token by token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Names of the projection, its norm and the output's matrix in checkpoints, by model type.
NAMES = {
    "bert": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder"),
    "modernbert": ("head.dense", "head.norm", "decoder"),
}
EPSILON = 1e-12


def head_of(request: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """Build the probe's head: a function from last hidden states (..., hidden) to logits (..., words), in float64."""
    from safetensors.numpy import load_file

    tensors = load_file(Path(request["probe"]) / "model.safetensors")
    dense, norm, decoder = NAMES[request["model_type"]]
    erf = np.vectorize(math.erf, otypes=[float])

    def linear(name: str, states: np.ndarray) -> np.ndarray:
        return np.asarray(states @ tensors[f"{name}.weight"].T + tensors.get(f"{name}.bias", 0))

    def logits(states: np.ndarray) -> np.ndarray:
        inner = linear(dense, np.asarray(states, np.float64))
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        inner = inner - inner.mean(-1, keepdims=True)
        inner = inner / np.sqrt((inner**2).mean(-1, keepdims=True) + EPSILON)
        return linear(decoder, inner * tensors[f"{norm}.weight"] + tensors.get(f"{norm}.bias", 0))

    return logits
