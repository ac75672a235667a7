"""Layers, as a run shows them, of models that only add positions before layer 0, and their class's softmax scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from posenc.diagnosis.model_capture import Capture, part_in
from posenc.encodings.adds.learned import Learned
from posenc.models.model_positions import LayerGroup, ModelPositions

#: Parts whose classes all divide q·k by √d where no key says otherwise, as measured of every type that transformers
#: 5.23 runs through its attention functions.
SCALED_PARTS = ("text", "encoder", "decoder", "vision")
#: Types whose vision tower does not divide: nothing is compared there.
UNSCALED_TOWERS = frozenset({"pix2struct", "pix2struct_vision_model"})
#: Types of GPT-2's code, whose keys say whether q·k is divided by √d, and besides by the number of the layer.
GPT2_KIN = ("gpt2", "gpt-sw3", "gpt_bigcode", "decision_transformer")
HEADS = ("n_head", "num_attention_heads")
#: Types of GPT2_KIN that also divide by the number of the layer where their file says so.
DIVIDED_BY_LAYER = frozenset(GPT2_KIN) - {"gpt_bigcode"}


def with_layers(model: ModelPositions, captured: Capture, config: Mapping[str, Any]) -> ModelPositions:
    """Add the layers that a run shows to those parts of a model that only add positions before layer 0.

    Args:
        model: What is meant.
        captured: The record of a run.
        config: What is meant as plain data.
    """
    return replace(
        model, groups=tuple(one for group in model.groups for one in _layers(group, model, captured, config))
    )


def _layers(
    group: LayerGroup, model: ModelPositions, captured: Capture, config: Mapping[str, Any]
) -> Iterator[LayerGroup]:
    of_part = model.of(group.part)
    compared = group.part in SCALED_PARTS and not (group.part == "vision" and model.model_type in UNSCALED_TOWERS)
    if not compared or any(one.layers for one in of_part) or group is not of_part[0]:
        yield group
        return
    ran = (one for one in captured.attention if part_in(model.parts, one.part) == group.part)
    factors: dict[float, list[int]] = {}
    for layer in sorted({one.layer for one in ran if one.layer is not None}):
        factors.setdefault(_logit_factor(layer, group, model.model_type, config), []).append(layer)
    if not factors:
        yield group
    for factor, layers in factors.items():
        yield replace(group, layers=tuple(layers), logit_factor=factor)


def _logit_factor(layer: int, group: LayerGroup, model_type: str, config: Mapping[str, Any]) -> float:
    """The factor of logits besides 1/√d."""
    if model_type not in GPT2_KIN:
        return group.logit_factor
    factor = 1.0
    heads = next((config[name] for name in HEADS if isinstance(config.get(name), int)), None)
    width = next((encoding.dim for encoding in group.encodings if isinstance(encoding, Learned)), 0)
    if config.get("scale_attn_weights") is False and heads:
        factor = math.sqrt(width // heads)
    if config.get("scale_attn_by_inverse_layer_idx") is True and model_type in DIVIDED_BY_LAYER:
        factor /= layer + 1
    return factor
