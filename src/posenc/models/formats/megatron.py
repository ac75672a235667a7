"""Megatron-LM's arguments as records, and records as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from posenc import _check
from posenc.compose import Partial
from posenc.encodings.adds.learned import Learned
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Linear, Llama3, Scaling
from posenc.models.config.fields import CONCERNS, Fields
from posenc.models.formats.single_rope import layers_of, single_rotation
from posenc.models.model_positions import LayerGroup, ModelPositions

#: What the arguments are where a command line leaves them out.
DEFAULTS: dict[str, Any] = {
    "position_embedding_type": "learned_absolute", "rotary_base": 10_000, "rotary_percent": 1.0, "rotary_interleaved": False,
    "use_rope_scaling": False, "rope_scaling_factor": 8.0, "add_position_embedding": True, "multi_latent_attention": False,
}  # fmt: skip
#: Arguments that say nothing of the numbers where the ones above are as they are.
HARMLESS = frozenset({"apply_rope_fusion", "use_rotary_position_embeddings", "rope_type", "max_position_embeddings"})
TYPES = ("rope", "learned_absolute", "none")


def from_megatron(
    arguments: Mapping[str, Any] | Any, *, stated: Mapping[str, Any] | None = None, waive: Iterable[str] = ()
) -> ModelPositions:
    """Read the arguments that Megatron-LM was started with, or that its checkpoint holds.

    arguments: a dict or a namespace, by the names with underscores.      stated: values that win.      waive: arguments that concern
    positions and may go unread. What is left out is as on its command line: learned_absolute positions, rotary_base 10000. The scaling of
    Llama 3 has constants there: low 1, high 4, original 8192. Raises ValueError or TypeError naming the argument.

    >>> arguments = {"num_layers": 2, "hidden_size": 96, "num_attention_heads": 12, "position_embedding_type": "rope", "rotary_base": 500000}
    >>> from_megatron(arguments).groups[0].encodings
    (RoPE(dim=8, base=500000.0, pairing='halves', numerics='exact'),)
    """
    data = dict(arguments) if isinstance(arguments, Mapping) else dict(_namespace(arguments))
    fields = Fields(data, DEFAULTS, {}, dict(stated or {}))
    kind = _check.choice("position_embedding_type", fields.need("position_embedding_type").value, TYPES)
    layers = tuple(range(fields.integer("num_layers", 1, 1 << 13)))
    if fields.truth("multi_latent_attention"):
        raise ValueError(
            "multi_latent_attention must be False; its rotation is not read here. Read the Hugging Face config instead."
        )
    if kind == "rope":
        groups = _turning(fields, layers)
    elif kind == "none" or not fields.truth("add_position_embedding"):
        groups = (LayerGroup("text", "full_attention", layers, (), values=tuple(fields.values)),)
    else:
        table = Learned(dim=fields.integer("hidden_size"), length=fields.integer("max_position_embeddings", 1, 1 << 30))
        groups = (LayerGroup("text", "embedding", (), (table,), values=tuple(fields.values)),)
    known = (
        fields.used
        | HARMLESS
        | set(waive)
        | (set() if kind == "rope" else {key for key in data if "rot" in key or "rope" in key})
    )
    strangers = [key for key, value in data.items() if CONCERNS.search(key) and value and key not in known]
    if strangers:
        raise ValueError(
            f"{strangers[0]} must be understood, since it concerns positions; it is not known here. If it is harmless, give "
            f"waive={tuple(strangers)!r}."
        )
    return ModelPositions("megatron", groups)


def _namespace(arguments: Any) -> dict[str, Any]:
    """The plain values of a namespace, as argparse makes it."""
    try:
        return {name: value for name, value in vars(arguments).items() if not name.startswith("_")}
    except TypeError:
        raise TypeError(
            f"arguments must be a dict or a namespace; got {_check.shown(arguments)}. Give vars of it."
        ) from None


def _turning(fields: Fields, layers: tuple[int, ...]) -> tuple[LayerGroup, ...]:
    """The layers that rotate, and those that do not."""
    if fields.given("kv_channels"):
        dim = fields.integer("kv_channels", 2)
    else:
        dim = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    share = _check.real("rotary_percent", fields.need("rotary_percent").value, 0.0, 1.0, above=True)
    width = int(dim * share)
    inner = RoPE(
        dim=width,
        base=_check.real("rotary_base", fields.need("rotary_base").value, 0.0, 1e30, above=True),
        pairing="adjacent" if fields.truth("rotary_interleaved") else "halves",
        scaling=_scaling(fields),
    )
    record = inner if width == dim else Partial(inner, dim)
    still = _still(fields, layers)
    values = tuple(fields.values)
    groups = (
        LayerGroup(
            "text", "full_attention", tuple(one for one in layers if one not in still), (record,), values=values
        ),
        LayerGroup("text", "no rotation", tuple(sorted(still)), (), values=values),
    )
    return tuple(group for group in groups if group.layers)


def _scaling(fields: Fields) -> Scaling | None:
    stretched = fields.given("rotary_seq_len_interpolation_factor")
    scaled = fields.truth("use_rope_scaling")
    factor = fields.need("rope_scaling_factor").value
    if stretched and scaled:
        raise ValueError(
            "use_rope_scaling must come without rotary_seq_len_interpolation_factor; this has both. posenc has no such mixture."
        )
    if stretched:
        return Linear(
            _check.real(
                "rotary_seq_len_interpolation_factor",
                fields.need("rotary_seq_len_interpolation_factor").value,
                1.0,
                1e6,
            )
        )
    return Llama3(_check.real("rope_scaling_factor", factor, 1.0, 1e6), 8192, 1.0, 4.0) if scaled else None


def _still(fields: Fields, layers: tuple[int, ...]) -> frozenset[int]:
    """The layers without a rotation: every N-th, or those with a 1 in a list."""
    value = fields.get("no_rope_freq")
    if value is None:
        return frozenset()
    pattern = value.value
    if isinstance(pattern, tuple):
        if len(pattern) != len(layers) or any(one not in (0, 1) for one in pattern):
            raise ValueError(
                f"no_rope_freq must have a 0 or 1 for each of {len(layers)} layers; got {_check.shown(pattern)}. Look again."
            )
        return frozenset(layer for layer in layers if pattern[layer])
    period = _check.integer("no_rope_freq", pattern, 1, 1 << 13)
    return frozenset(layer for layer in layers if (layer + 1) % period == 0)


def to_megatron(positions: ModelPositions) -> dict[str, Any]:
    """The arguments that say the same, but for sizes that a record does not know; ValueError for what they cannot say."""
    (first, *rest) = positions.groups
    if not rest and len(first.encodings) == 1 and isinstance(first.encodings[0], Learned):
        table = first.encodings[0]
        if first.offset or table.outside != "error":
            raise ValueError(
                f"positions must be read from a table's first row on for Megatron; got {table!r}. It has no argument for that."
            )
        sizes = {"hidden_size": table.dim, "max_position_embeddings": table.length}
        return {"position_embedding_type": "learned_absolute", **sizes}
    found = [single_rotation(group, "Megatron arguments") for group in positions.groups]
    turning = [one for one in found if one is not None]
    count = layers_of(positions)
    if not turning:
        return {"position_embedding_type": "none", "num_layers": count}
    one = turning[0]
    if len(turning) > 1 or one.start or int(one.dim * (one.width / one.dim)) != one.width:
        raise ValueError(
            "positions must be one rotation of the first channels of a head for Megatron. It has no arguments for more."
        )
    keys: dict[str, Any] = {
        "position_embedding_type": "rope", "num_layers": count, "kv_channels": one.dim, "rotary_base": one.base,
        "rotary_percent": one.width / one.dim, "rotary_interleaved": one.pairing == "adjacent", **_scaled(one.scaling),
    }  # fmt: skip
    still = set(range(count)) - set(one.group.layers)
    return keys | ({"no_rope_freq": [int(layer in still) for layer in range(count)]} if still else {})


def _scaled(scaling: Scaling | None) -> dict[str, Any]:
    if scaling is None:
        return {"use_rope_scaling": False}
    if isinstance(scaling, Linear):
        return {"use_rope_scaling": False, "rotary_seq_len_interpolation_factor": scaling.factor}
    if isinstance(scaling, Llama3) and (scaling.original, scaling.low, scaling.high) == (8192, 1.0, 4.0):
        return {"use_rope_scaling": True, "rope_scaling_factor": scaling.factor}
    raise ValueError(
        f"scaling must be linear, or Llama 3's with original=8192, low=1, high=4 for Megatron; got {scaling!r:.100}. It has no arguments for others."
    )
