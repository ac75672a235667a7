"""Layers that know no position themselves, and may attend otherwise than most: to near keys, or by another scale."""

from __future__ import annotations

import math
from typing import Any

from posenc.models.config.fields import Fields, wrong
from posenc.models.config.layer_type_rules import num_hidden_layers
from posenc.models.config.model_type import Groups
from posenc.models.model_positions import LayerGroup, Window

#: What a window of Longformer leaves out.
GLOBAL_TOKENS = "tokens that the caller marks as global see all keys, and every query sees them"


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


def global_and_local(fields: Fields) -> Groups:
    """GPT-Neo: local layers see window_size keys, the query's own among them; no logits are divided by √d."""
    types = _expanded(fields)
    fields.mark_used("attention_layers")  # which the class makes of attention_types, whatever the file says
    width = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    window = Window(fields.integer("window_size") - 1)
    return tuple(
        LayerGroup(
            "text",
            name,
            tuple(layer for layer, own in enumerate(types) if own == name),
            (),
            logit_factor=math.sqrt(width),
            values=fields.values_of("attention_types", *(("window_size",) if near else ())),
            window=near,
        )
        for name, near in (("global", None), ("local", window))
        if name in types
    )


def _expanded(fields: Fields) -> tuple[str, ...]:
    """The type of every GPT-Neo layer, from [[["global", "local"], 12]] and the like."""
    stated, count = fields.get("attention_types"), num_hidden_layers(fields)
    runs: Any = ((("global", "local"), 12),) if stated is None else stated.value
    rule = f"must say for {count} layers whether they are global or local, as [[['global', 'local'], {count // 2}]]"
    types: list[str] = []
    try:
        for names, times in runs:
            if times < 0 or len(types) + len(names) * times > count:
                raise ValueError
            types += names * times
    except (TypeError, ValueError):
        types = []
    if len(types) != count or not set(types) <= {"global", "local"}:
        raise ValueError(wrong(f"{fields.where}attention_types", rule, runs))
    return tuple(types)


def around_by_layer(fields: Fields, part: str = "text") -> Groups:
    """Longformer and LED's encoder: half of attention_window, one number or one for each layer, on both sides."""
    stated, count = fields.require("attention_window"), num_hidden_layers(fields)
    sizes = stated.value if isinstance(stated.value, tuple) else (stated.value,) * count
    if len(sizes) != count or any(type(size) is not int or size < 2 or size % 2 for size in sizes):
        raise ValueError(wrong(stated.key, f"must be an even number, or one for each of {count} layers", stated.value))
    layers_of: dict[int, list[int]] = {}
    for layer, size in enumerate(sizes):
        layers_of.setdefault(int(size) // 2, []).append(layer)  # type: ignore[arg-type]
    return tuple(
        LayerGroup(part, "sliding_attention", tuple(layers), (), values=(stated,), notes=(GLOBAL_TOKENS,),
                   window=Window(reach, reach))
        for reach, layers in layers_of.items()
    )  # fmt: skip
