"""Factors of logits and of queries, next to the rotation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from posenc.encodings.rotates.temperature import PowerTemperature, StepTemperature
from posenc.frequencies import YaRN
from posenc.models.config.fields import Fields
from posenc.models.config.head_rules import head_dim_of_layer, stated_head_dim
from posenc.models.config.rope_parameters import TRAINED, RopeParameters, one_rotation
from posenc.models.model_positions import LayerGroup


def rope_temperature(rope: RopeParameters, dim: int) -> StepTemperature | None:
    """Ministral 3: a query temperature in layers that rotate, where rope_parameters has llama_4_scaling_beta."""
    if rope.get("llama_4_scaling_beta") is None:
        return None
    return StepTemperature(dim, rope.real("llama_4_scaling_beta"), int(rope.real(TRAINED)), start=0)


def nope_temperature(fields: Fields, group: LayerGroup) -> LayerGroup:
    """Llama 4: lengthen by steps in layers that do not rotate, where attn_temperature_tuning says so."""
    if not fields.flag("attn_temperature_tuning"):
        fields.mark_used("attn_scale", "floor_scale")
        return group
    dim = head_dim_of_layer(fields, stated_head_dim, group.attention, group.layers[0])
    scale, floor = fields.real("attn_scale"), fields.integer("floor_scale", 1, 2**30)
    return replace(group, query_temperature=StepTemperature(dim, scale, floor, start=1))


def power_of_position(fields: Fields, group: LayerGroup) -> LayerGroup:
    """BEAM: are multiplied by (1 + (position + 1) / 2048)^0.1 in layers that do not rotate, constants of the class."""
    dim = head_dim_of_layer(fields, stated_head_dim, group.attention, group.layers[0])
    return replace(group, query_temperature=PowerTemperature(dim, exponent=0.1, length=2048, start=1))


#: What logits are multiplied by besides 1/√d, from the rotation of a layer, if it has one, and the width d of a head.
LogitFactor = Callable[[Fields, RopeParameters | None, int], float]


def root_of_width(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Most models: the product of query and key over √d, and nothing besides."""
    return 1.0


def squared_mscale(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """DeepSeek: logits of a stretched context are multiplied by m(mscale_all_dim)²."""
    rope = rope or one_rotation(fields)
    if rope.rope_type == "default" or not rope.get("mscale_all_dim") or not rope.get("factor"):
        return 1.0
    both: Any = {"mscale": 1.0, "mscale_all_dim": rope.real("mscale_all_dim")}
    return YaRN(rope.real("factor"), 2**30, **both).softmax_factor


def by_query_pre_attn_scalar(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Gemma 2: logits are divided by the root of query_pre_attn_scalar in place of d."""
    return math.sqrt(dim / fields.real("query_pre_attn_scalar"))


def by_query_pre_attn_scalar_or_width(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Step 3.5: logits are divided by the root of query_pre_attn_scalar, or of head_dim, also in other heads."""
    stated = fields.get("query_pre_attn_scalar") is not None
    return math.sqrt(dim / fields.real("query_pre_attn_scalar" if stated else "head_dim"))


def by_attention_multiplier(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Granite: logits are multiplied by attention_multiplier in place of 1/√d, unless it is null."""
    if fields.get("attention_multiplier") is None:
        return 1.0
    return factor_of(fields.real("attention_multiplier"), dim)


def factor_of(multiplier: float, dim: int) -> float:
    """The factor of logits besides 1/√d where they are multiplied by this number in its place."""
    factor = multiplier * math.sqrt(dim)
    return 1.0 if math.isclose(factor, 1.0, rel_tol=2**-51) else factor  # 1/√d itself, which a file rounds


def by_qk_scale_factor(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Muse: queries are multiplied by qk_scale_factor after their norm."""
    return fields.real("qk_scale_factor")


def unscaled(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Gemma 4: logits are the product of query and key, both normalised, as it is."""
    return math.sqrt(dim)


def root_of_half_width(fields: Fields, rope: RopeParameters | None, dim: int) -> float:
    """Zamba 2: logits are divided by √(d/2)."""
    return math.sqrt(2.0)
