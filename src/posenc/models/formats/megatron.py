"""Megatron-LM's arguments as encodings, and encodings as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from posenc.compose import Partial
from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Linear, Llama3, Scaling
from posenc.models.config.config_classes import ConfigClass
from posenc.models.config.fields import Fields, Options, stated_values
from posenc.models.config.layer_type_rules import MOST_LAYERS, count_of
from posenc.models.formats.single_rotation import (
    check_one_part,
    every_nth,
    groups_by_rotation,
    layer_count,
    refuse_windows,
    single_rotation,
    unrotated_layers,
)
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.notes import NotRead

#: What the arguments are where a command line leaves them out.
DEFAULTS = ConfigClass(
    defaults={
        "position_embedding_type": "learned_absolute",
        "use_rotary_position_embeddings": False,
        "rotary_base": 10_000,
        "rotary_percent": 1.0,
        "rotary_interleaved": False,
        "use_rope_scaling": False,
        "rope_scaling_factor": 8.0,
        "add_position_embedding": True,
        "multi_latent_attention": False,
    }
)
#: Arguments that say nothing of the numbers where the ones above are as they are.
NEUTRAL_KEYS = (
    "apply_rope_fusion", "fused_single_qkv_rope", "rope_type", "max_position_embeddings", "position_embedding_type",
    "ddp_bucket_size", "ddp_num_buckets", "ddp_pad_buckets_for_high_nccl_busbw",
)  # fmt: skip
#: Arguments of relative positions and of latent attention, which every namespace holds with these defaults.
OTHER_DEFAULTS = {
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "rotary_scaling_factor": 1.0,
    "original_max_position_embeddings": 4096,
    "qk_pos_emb_head_dim": 64,
}
#: Arguments that are noted: what they say of the keys that a query sees, and of the scale of logits.
NOT_READ = {
    "window_size": "the window of some or all layers",
    "attention_chunk_size": "the chunks of some layers",
    "softmax_scale": "the factor of logits in place of 1/√d",
}
TYPES = ("rope", "learned_absolute", "none")


def from_megatron(
    arguments: Mapping[str, Any] | Any, *, stated: Mapping[str, Any] | None = None, waive: Iterable[str] = ()
) -> ModelPositions:
    """Read the arguments that Megatron-LM was started with, or that its checkpoint holds.

    An argument that is left out is as on its command line: learned_absolute positions, rotary_base 10000. There
    use_rotary_position_embeddings, the older spelling of "rope", wins over position_embedding_type, and the scaling of
    Llama 3 has constants: low 1, high 4, original 8192.

    Args:
        arguments: A dict or a namespace, by the names with underscores.
        stated: Values that win, by the same names. One that nothing reads is refused.
        waive: Arguments that concern positions and may go unread.

    Returns:
        The groups of layers.

    Raises:
        ValueError: An argument on positions is not understood, or a value breaks its rule.
        TypeError: A value has another type than its argument takes.

    Example:
        >>> arguments = {"num_layers": 2, "kv_channels": 8, "position_embedding_type": "rope", "rotary_base": 500000}
        >>> from_megatron(arguments).groups[0].encodings
        (RoPE(dim=8, base=500000.0, pairing='halves', numerics='exact'),)
    """
    data = dict(arguments) if isinstance(arguments, Mapping) else _namespace(arguments)
    fields = Fields(data, DEFAULTS, Options(stated_values(stated)))
    kind = "rope" if fields.flag("use_rotary_position_embeddings") else _position_embedding_type(fields)
    layers = tuple(range(count_of("num_layers")(fields)))
    if fields.flag("multi_latent_attention"):
        raise ValueError(
            "multi_latent_attention must be False; its rotation is not read here. Read the Hugging Face config instead."
        )
    neutral = [*NEUTRAL_KEYS, *(key for key, value in OTHER_DEFAULTS.items() if data.get(key) == value)]
    if kind == "rope":
        groups = _rotary_groups(fields, layers)
    else:
        neutral += [key for key in data if "rot" in key or "rope" in key]
        groups = (_unrotated_group(fields, layers, kind),)
    notes = fields.notes_of_unknown_keys(neutral, validation.texts("waive", waive))
    fields.options.refuse_unread()
    unread = (f"{key} = {data[key]!r:.80}, {what}" for key, what in NOT_READ.items() if data.get(key))
    return ModelPositions("megatron", groups, (*notes, *map(NotRead, unread)))


def _namespace(arguments: Any) -> dict[str, Any]:
    """The plain values of a namespace, as argparse makes it."""
    try:
        return {name: value for name, value in vars(arguments).items() if not name.startswith("_")}
    except TypeError:
        raise TypeError(
            f"arguments must be a dict or a namespace; got {validation.shown(arguments)}. Give vars of it."
        ) from None


def _position_embedding_type(fields: Fields) -> str:
    return validation.choice("position_embedding_type", fields.require("position_embedding_type").value, TYPES)


def _unrotated_group(fields: Fields, layers: tuple[int, ...], kind: str) -> LayerGroup:
    if kind == "none" or not fields.flag("add_position_embedding"):
        return LayerGroup("text", "full_attention", layers, (), values=fields.values)
    table = Learned(dim=fields.integer("hidden_size"), length=fields.integer("max_position_embeddings", 1, 1 << 30))
    return LayerGroup("text", "embedding", (), (table,), values=fields.values)


def _rotary_groups(fields: Fields, layers: tuple[int, ...]) -> tuple[LayerGroup, ...]:
    if fields.states("kv_channels"):
        dim = fields.integer("kv_channels", 2)
    else:
        dim = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    share = validation.real("rotary_percent", fields.require("rotary_percent").value, 0.0, 1.0, above=True)
    width = int(dim * share)
    rope = RoPE(
        dim=width,
        base=validation.real("rotary_base", fields.require("rotary_base").value, 0.0, 1e30, above=True),
        pairing="adjacent" if fields.flag("rotary_interleaved") else "halves",
        scaling=_scaling(fields),
    )
    encoding: RotaryEncoding = rope if width == dim else Partial(rope, dim)
    unrotated = _unrotated(fields, layers)
    return groups_by_rotation(layers, unrotated, encoding, fields.values)


def _scaling(fields: Fields) -> Scaling | None:
    interpolation = "rotary_seq_len_interpolation_factor"
    interpolated, scaled = fields.states(interpolation), fields.flag("use_rope_scaling")
    factor = fields.require("rope_scaling_factor").value
    if interpolated and scaled:
        raise ValueError(
            f"use_rope_scaling must come without {interpolation}; this has both. posenc has no such mixture."
        )
    if interpolated:
        return Linear(validation.real(interpolation, fields.require(interpolation).value, 1.0, 1e6))
    return Llama3(validation.real("rope_scaling_factor", factor, 1.0, 1e6), 8192, 1.0, 4.0) if scaled else None


def _unrotated(fields: Fields, layers: tuple[int, ...]) -> frozenset[int]:
    """The layers without a rotation: every n-th, or those with a 1 in a list."""
    value = fields.get("no_rope_freq")
    if value is None:
        return frozenset()
    pattern = value.value
    if not isinstance(pattern, tuple):
        return every_nth(validation.integer("no_rope_freq", pattern, 1, MOST_LAYERS), layers)
    if len(pattern) != len(layers) or any(flag not in (0, 1) for flag in pattern):
        raise ValueError(
            f"no_rope_freq must have a 0 or 1 for each of {len(layers)} layers; got {validation.shown(pattern)}. "
            "Check the list."
        )
    return frozenset(layer for layer in layers if pattern[layer])


def to_megatron(positions: ModelPositions) -> dict[str, Any]:
    """Write encodings as arguments of Megatron-LM, without sizes that no encoding knows.

    Args:
        positions: From any reader.

    Returns:
        The arguments, by the names with underscores.

    Raises:
        ValueError: The arguments cannot say what the encodings say, or a layer has a window.
    """
    check_one_part(positions, "Megatron arguments")
    refuse_windows(positions, "Megatron arguments")
    (first, *rest) = positions.groups
    if not rest and len(first.encodings) == 1 and isinstance(first.encodings[0], Learned):
        table = first.encodings[0]
        if first.offset or table.outside != "error":
            raise ValueError(
                f"positions must start at a table's first row for Megatron; got {table!r}. It has no argument for that."
            )
        sizes = {"hidden_size": table.dim, "max_position_embeddings": table.length}
        return {"position_embedding_type": "learned_absolute", **sizes}
    groups = [single_rotation(group, "Megatron arguments") for group in positions.groups]
    rotations = [rotation for rotation in groups if rotation is not None]
    count = layer_count(positions)
    if not rotations:
        return {"position_embedding_type": "none", "num_layers": count}
    rotation = rotations[0]
    dim, width = rotation.dim, rotation.width
    if len(rotations) > 1 or rotation.start or int(dim * (width / dim)) != width:
        raise ValueError(
            "positions must be one rotation of the first channels of a head for Megatron. It has no arguments for more."
        )
    unrotated = unrotated_layers(positions, rotation)
    return {
        "position_embedding_type": "rope",
        "num_layers": count,
        "kv_channels": dim,
        "rotary_base": rotation.base,
        "rotary_percent": width / dim,
        "rotary_interleaved": rotation.pairing == "adjacent",
        **_scaling_keys(rotation.scaling),
        **({"no_rope_freq": [int(layer in unrotated) for layer in range(count)]} if unrotated else {}),
    }


def _scaling_keys(scaling: Scaling | None) -> dict[str, Any]:
    if scaling is None:
        return {"use_rope_scaling": False}
    if isinstance(scaling, Linear):
        return {"use_rope_scaling": False, "rotary_seq_len_interpolation_factor": scaling.factor}
    if isinstance(scaling, Llama3) and (scaling.original, scaling.low, scaling.high) == (8192, 1.0, 4.0):
        return {"use_rope_scaling": True, "rope_scaling_factor": scaling.factor}
    raise ValueError(
        "scaling must be linear, or Llama 3's with original=8192, low=1, high=4 for Megatron; "
        f"got {scaling!r:.100}. It has no arguments for others."
    )
