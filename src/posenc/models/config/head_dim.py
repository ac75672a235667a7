"""How wide the heads of a model are, and which of their channels turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc import _check
from posenc.models.config import rope_parameters
from posenc.models.config.fields import Fields
from posenc.models.config.model_types import Family
from posenc.models.config.pair_axes import turned_width
from posenc.models.config.rope_scaling import has, real
from posenc.models.model_positions import Value

Rope = Mapping[str, Value]
#: Where qk_rope_head_dim says how many channels turn.
LATENT = frozenset({"latent", "shared", "windowed"})


def head_of(
    fields: Fields, values: Rope, name: str, family: Family, kind: str, layers: tuple[int, ...]
) -> rope_parameters.Head:
    """The width of a head, and how much of it turns."""
    if family.head in LATENT:
        turning, unturned = _latent(fields, family, kind, layers[0])
        share = values.get("partial_rotary_factor")
        if family.head == "shared" and share:  # of the whole head, and what turns is that share of it
            share = replace(share, value=real(values, "partial_rotary_factor") * (turning + unturned) / turning)
        if share and share.source != "class default" and name not in ("default", "proportional") and share.value != 1:
            raise ValueError(
                f"{share.key} must be left out where qk_rope_head_dim says which channels turn; got {_check.shown(share.value)}. "
                "The class would make frequencies for a part of these alone."
            )
        return rope_parameters.Head(turning + unturned, turning, unturned)
    dim = head_dim(fields, family, kind, layers)
    if family.head == "projected":
        width = max(
            (fields.integer("projection_dim") if fields.given("projection_dim") else 768)
            // (2 * fields.integer("num_attention_heads")),
            32,
        )
        return rope_parameters.Head(dim, min(width, dim))
    if family.part == "vision" and family.axes:
        return rope_parameters.Head(dim, turned_width(family.axes, dim))
    own_rule = name == "proportional" or (name == "dynamic" and has(values, "alpha"))
    if own_rule or not (family.partial or name != "default"):
        return rope_parameters.Head(dim, dim)
    width = int(dim * real(values, "partial_rotary_factor", 1.0))
    if width % 2 or not 0 < width <= dim:
        raise ValueError(
            f"partial_rotary_factor must leave an even number of channels of a head of {dim}; got {width}. Look at head_dim, "
            "or at hidden_size and num_attention_heads."
        )
    return rope_parameters.Head(dim, width, dim - width if family.last else 0)


def _latent(fields: Fields, family: Family, kind: str, layer: int) -> tuple[int, int]:
    """How many channels turn, and how many lie before them."""
    if family.head != "windowed" or kind != "sliding_attention" or fields.given("per_layer_config"):
        own = [_of_layer(fields, layer, name) for name in ("qk_rope_head_dim", "qk_nope_head_dim")]
        return own[0] or fields.integer("qk_rope_head_dim"), own[1] or fields.integer("qk_nope_head_dim", 0)
    # Older files of Dots 3 Note have keys of their own for these layers.
    whole, still = (
        fields.integer(name) if fields.given(name) else usual
        for name, usual in (("swa_head_dim", 256), ("swa_qk_nope_head_dim", 192))
    )
    name = "swa_qk_rope_head_dim"
    return fields.integer(name) if fields.given(name) else whole - still, still


def head_dim(fields: Fields, family: Family, kind: str, layers: tuple[int, ...]) -> int:
    own = _of_layer(fields, layers[0], "head_dim")
    if own is not None:
        return own
    if family.head == "doubled":
        return 2 * fields.integer("hidden_size") // fields.integer("num_attention_heads")
    if family.head == "whole":
        return _whole(fields)
    if family.head == "global" and kind == "full_attention":
        return fields.integer("global_head_dim") if fields.given("global_head_dim") else 512
    if family.head == "memory":
        return fields.integer("memory_attention_hidden_size") // (
            fields.integer("memory_attention_downsample_rate") * fields.integer("memory_attention_num_attention_heads")
        )
    if family.head == "embedded":
        return fields.integer("embed_dim") // fields.integer("num_attention_heads")
    if family.head != "divided" and fields.get("head_dim") is not None:
        return fields.integer("head_dim")
    return fields.integer("hidden_size") // fields.integer("num_attention_heads")


def _whole(fields: Fields) -> int:
    """EfficientLoFTR: all heads together, half of whose channels the frequencies must be made for."""
    width, share = fields.integer("hidden_size"), fields.table("rope_parameters")
    fraction = number(fields, "partial_rotary_factor") if fields.given("partial_rotary_factor") else 4.0
    if share and share[0].get("partial_rotary_factor") is not None:
        fraction = real(
            {"own": Value("own", share[0]["partial_rotary_factor"], "file", "partial_rotary_factor")}, "own"
        )
    if 2 * int(width // fields.integer("num_attention_heads") * fraction) != width:
        raise ValueError(
            f"partial_rotary_factor must be half of num_attention_heads; got {fraction}. The class can do no other."
        )
    return width


def _of_layer(fields: Fields, layer: int, name: str) -> int | None:
    """A width that per_layer_config states for one layer."""
    table = fields.table("per_layer_config")
    own: Any = None
    if table:
        entries: dict[Any, Any] = table[0]
        own = entries.get(str(layer), entries.get(layer))
    if not isinstance(own, Mapping) or own.get(name) is None:
        return None
    return Fields(own, {}, {}, {}, f"{fields.where}per_layer_config.{layer}.").integer(name)


def number(fields: Fields, name: str) -> float:
    """A number of the file or class."""
    return real({name: fields.need(name)}, name)
