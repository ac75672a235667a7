"""Layers, as a run shows them, of models that only add positions before layer 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from posenc.diagnosis.model_capture import Capture, part_in
from posenc.models.model_positions import LayerGroup, ModelPositions

#: Parts whose classes all divide q·k by √d where no key says otherwise, as measured of every type that transformers
#: 5.23 runs through its attention functions.
SCALED_PARTS = ("text", "encoder", "decoder", "vision")
#: Types whose vision tower does not divide: nothing is compared there.
UNSCALED_TOWERS = frozenset({"pix2struct", "pix2struct_vision_model"})


def with_layers(model: ModelPositions, captured: Capture) -> ModelPositions:
    """Add the layers that a run shows to those parts of a model that only add positions before layer 0.

    Args:
        model: What is meant.
        captured: The record of a run.
    """
    return replace(model, groups=tuple(one for group in model.groups for one in _layers(group, model, captured)))


def _layers(group: LayerGroup, model: ModelPositions, captured: Capture) -> Iterator[LayerGroup]:
    of_part = model.of(group.part)
    compared = group.part in SCALED_PARTS and not (group.part == "vision" and model.model_type in UNSCALED_TOWERS)
    if not compared or any(one.layers for one in of_part) or group is not of_part[0]:
        yield group
        return
    ran = (one for one in captured.attention if part_in(model.parts, one.part) == group.part)
    layers = sorted({one.layer for one in ran if one.layer is not None})
    yield replace(group, layers=tuple(layers)) if layers else group
