"""Layers that know no position themselves, and may attend otherwise than most: by another scale of their logits."""

from __future__ import annotations

import math

from posenc.models.config.fields import Fields
from posenc.models.config.layer_type_rules import num_hidden_layers
from posenc.models.config.model_type import Groups
from posenc.models.model_positions import LayerGroup


def scaled_by_keys(fields: Fields, *, by_layer: bool = True) -> Groups:
    """GPT-2 and its kin: logits may not be divided by √d, or divided by the number of the layer, counted from 1, too.

    Args:
        fields: Of the config.
        by_layer: Whether the class reads scale_attn_by_inverse_layer_idx.

    Returns:
        A group for each factor of logits.
    """
    scaled = fields.flag("scale_attn_weights")
    numbered = by_layer and fields.flag("scale_attn_by_inverse_layer_idx")
    width = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    factor = 1.0 if scaled else math.sqrt(width)
    layers = tuple(range(num_hidden_layers(fields)))
    alike = {layer + 1: (layer,) for layer in layers} if numbered else {1: layers}
    values = fields.values_of("scale_attn_weights", "scale_attn_by_inverse_layer_idx")
    return tuple(
        LayerGroup("text", "full_attention", numbers, (), logit_factor=factor / divisor, values=values)
        for divisor, numbers in alike.items()
    )
