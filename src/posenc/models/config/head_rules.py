"""Channels of the heads of a model, and those that rotate: a rule for each habit of the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from posenc.core import validation
from posenc.models.config.fields import Fields
from posenc.models.config.rope_parameters import RopeParameters

#: Keys next to rope_parameters that a rotation follows from.
HEAD_KEYS = (
    "head_dim", "hidden_size", "num_attention_heads", "qk_rope_head_dim", "qk_nope_head_dim", "rotary_dim",
    "max_position_embeddings", "rope_interleave", "embed_dim", "encoder_num_attention_heads",
)  # fmt: skip


@dataclass(frozen=True)
class Head:
    """Channels of a head: `width` of `dim` rotate, from `start` on."""

    dim: int
    width: int
    start: int = 0


#: The channels of a head, by the type of its layer.
HeadDim = Callable[[Fields, str], int]
#: The rotated slice of a head, by its rotation, the type of its layer and the layer.
RotatedSlice = Callable[[Fields, RopeParameters, str, int], Head]


def stated_head_dim(fields: Fields, layer_type: str, heads: str = "num_attention_heads") -> int:
    """Return head_dim, else hidden_size // num_attention_heads, or over the key `heads`."""
    if fields.get("head_dim") is not None:
        return fields.integer("head_dim")
    return hidden_over_heads(fields, layer_type, heads)


def hidden_over_heads(fields: Fields, layer_type: str, heads: str = "num_attention_heads") -> int:
    """Return hidden_size // num_attention_heads, or over the key `heads`, whatever head_dim says."""
    return fields.integer("hidden_size") // fields.integer(heads)


def encoder_head_dim(fields: Fields, layer_type: str) -> int:
    """Moonshine's encoder: head_dim, else hidden_size // encoder_num_attention_heads; note where its class mixes both.

    Its layers write their number of heads into the config that the decoder is then built from.
    """
    if fields.integer("encoder_num_attention_heads") != fields.integer("num_attention_heads"):
        fields.notes["transformers 5.23.0 builds the decoder with encoder_num_attention_heads as well"] = None
    return stated_head_dim(fields, layer_type, "encoder_num_attention_heads")


def twice_hidden_over_heads(fields: Fields, layer_type: str) -> int:
    """Zamba 2: twice hidden_size over heads, since attention reads two hidden vectors side by side."""
    return 2 * fields.integer("hidden_size") // fields.integer("num_attention_heads")


def embed_over_heads(fields: Fields, layer_type: str) -> int:
    """Qwen2-VL's tower: embed_dim over heads, since its hidden_size is the width of the text model."""
    return fields.integer("embed_dim") // fields.integer("num_attention_heads")


def global_head_dim(fields: Fields, layer_type: str) -> int:
    """Gemma 4: global_head_dim (512 if unstated) in full layers, unless the file has per_layer_config."""
    fields.mark_used("global_head_dim")
    if layer_type != "full_attention" or fields.json_object("per_layer_config"):
        return stated_head_dim(fields, layer_type)
    return fields.integer_or("global_head_dim", 512)


def memory_head_dim(fields: Fields, layer_type: str) -> int:
    """SAM 2: head width of the memory attention, from its hidden size, downsampling rate and heads."""
    return fields.integer("memory_attention_hidden_size") // (
        fields.integer("memory_attention_downsample_rate") * fields.integer("memory_attention_num_attention_heads")
    )


def all_heads(fields: Fields, layer_type: str) -> int:
    """EfficientLoFTR: hidden_size, since all heads rotate as one; refuse a partial_rotary_factor that does not fit."""
    width, share = fields.integer("hidden_size"), 4.0
    if fields.states("partial_rotary_factor"):
        share = fields.real("partial_rotary_factor")
    rope = fields.json_object("rope_scaling") or fields.json_object("rope_parameters")
    if rope and rope[0].get("partial_rotary_factor") is not None:
        share = validation.real("partial_rotary_factor", rope[0]["partial_rotary_factor"], 0.0, 1e30)
    if 2 * int(width // fields.integer("num_attention_heads") * share) != width:
        raise ValueError(
            f"partial_rotary_factor must be half of num_attention_heads; got {share}. The class supports no other "
            "value."
        )
    return width


def by_rotary_dim(fields: Fields, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """GPT-J: the first rotary_dim channels rotate."""
    dim = hidden_over_heads(fields, layer_type)
    return Head(dim, fields.integer("rotary_dim") if fields.get("rotary_dim") else fields.integer("hidden_size"))


def by_projection_dim(fields: Fields, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """CLVP: as many channels rotate as projection_dim says."""
    dim = head_dim_of_layer(fields, stated_head_dim, layer_type, layer)
    width = fields.integer_or("projection_dim", 768)
    return Head(dim, min(max(width // (2 * fields.integer("num_attention_heads")), 32), dim))


def latent(fields: Fields, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """Multi-head latent attention: qk_rope_head_dim channels rotate, behind qk_nope_head_dim others."""
    width, start = (stated_for_layer(fields, layer, name) for name in ("qk_rope_head_dim", "qk_nope_head_dim"))
    width = width or fields.integer("qk_rope_head_dim")
    return _latent(rope, width, start or fields.integer("qk_nope_head_dim", 0))


def latent_share(fields: Fields, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """Mistral 4: qk_rope_head_dim channels rotate; partial_rotary_factor repeats which share of the head these are."""
    head, share = latent(fields, rope.without(["partial_rotary_factor"]), layer_type, layer), "partial_rotary_factor"
    stated = rope.get(share)
    if stated:
        rope = rope.updated(replace(stated, value=rope.real(share) * head.dim / head.width))
    return _latent(rope, head.width, head.start)


def latent_part(fields: Fields, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """GLM-4.7 Flash: qk_rope_head_dim channels rotate, behind qk_nope_head_dim others; no part of them."""
    head = latent(fields, rope.without(["partial_rotary_factor"]), layer_type, layer)
    return _latent(rope, head.width, head.start, unread=("proportional",))


def latent_windows(fields: Fields, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """Dots 3 Note: qk_rope_head_dim channels rotate; older files have keys of their own for layers with a window."""
    if layer_type != "sliding_attention" or fields.states("per_layer_config"):
        return latent(fields, rope, layer_type, layer)
    dim, start = fields.integer_or("swa_head_dim", 256), fields.integer_or("swa_qk_nope_head_dim", 192)
    return _latent(rope, fields.integer_or("swa_qk_rope_head_dim", dim - start), start)


def _latent(
    rope: RopeParameters, width: int, start: int, unread: tuple[str, ...] = ("default", "proportional")
) -> Head:
    """Make the head of latent attention; refuse a partial_rotary_factor that its rope_type reads (not in `unread`)."""
    share, ignored = rope.get("partial_rotary_factor"), rope.rope_type in unread
    if share and share.source != "class default" and share.value != 1 and not ignored:
        raise ValueError(
            f"{share.key} must be left out where qk_rope_head_dim says which channels rotate; got "
            f"{validation.shown(share.value)}. The class would make frequencies for only a part of them."
        )
    return Head(start + width, width, start)


def head_dim_of_layer(fields: Fields, rule: HeadDim, layer_type: str, layer: int) -> int:
    """The channels of a head in one layer."""
    return stated_for_layer(fields, layer, "head_dim") or rule(fields, layer_type)


def stated_for_layer(fields: Fields, layer: int, name: str) -> int | None:
    """A number that per_layer_config states for one layer."""
    table = fields.json_object("per_layer_config")
    entries: dict[Any, Any] = table[0] if table else {}
    # A class pads the numbers of layers with zeros where it saves them: "05" is layer 5.
    layer_entry = next((entry for key, entry in entries.items() if str(key).isdecimal() and int(key) == layer), None)
    if not isinstance(layer_entry, Mapping) or layer_entry.get(name) is None:
        return None
    return Fields(layer_entry, where=f"{fields.where}per_layer_config.{layer}.").integer(name)
