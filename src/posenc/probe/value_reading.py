"""Whether an engine rotates values, which attention is meant to sum as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posenc.diagnosis.mistake import Finding
from posenc.models.model_positions import layer_ranges
from posenc.probe.answers import Answers
from posenc.probe.layout import ProbeLayout
from posenc.probe.prompts import VALUES, Prompt
from posenc.probe.scores import OPERATIONS, ROUNDOFF, key_weights, weight_errors

#: Values are changed if what they sum to is off by so many errors.
CHANGED = 8.0


def asks_values(prompts: Sequence[Prompt]) -> bool:
    """Whether the prompts include the one that shows whether values rotate."""
    return any(prompt.name == VALUES for prompt in prompts)


def values_finding(layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, dtype: str) -> Finding | None:
    """Name rotated values; None where no prompt shows them, or attention sums values as they are.

    All tokens of the prompt are the key, whose value is 1 in two channels. Whatever the weights are, both sums are 1,
    unless values change with their position, at another frequency or to another channel of each. In an encoder, the key
    and one other token have the two channels, and equal weights.
    """
    if not asks_values(prompts):
        return None
    rows = answers.rows[VALUES]
    layers = []
    for layer in range(layout.stream.layers):
        error = weight_errors(layout, rows, dtype) + OPERATIONS * ROUNDOFF[dtype]
        share = key_weights(layout, rows, layer)
        if not np.all(np.abs(share - 1) <= CHANGED * error):
            layers.append(layer)
    if not layers:
        return None
    sentence = "Values change with their position: they are rotated before attention sums them."
    where = "" if len(layers) == layout.stream.layers else layer_ranges(tuple(layers))
    return Finding("values rotated", sentence, "Rotate queries and keys alone.", where)
