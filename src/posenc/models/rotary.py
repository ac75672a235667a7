"""Models that rotate queries and keys: a group for each type of layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posenc.frequencies import YaRN
from posenc.models import rope
from posenc.models.families import UNPLACED, Family
from posenc.models.fields import Fields
from posenc.models.layers import indices, layer_types
from posenc.models.records import LayerGroup, Value
from posenc.models.scalings import READS, has, real
from posenc.models.table import ModelClass
from posenc.phase import Numerics

Rope = Mapping[str, Value]

_GEMMA = {"full_attention": ("rope_theta", True), "sliding_attention": ("rope_local_base_freq", False)}
_MODERN_BERT = {"full_attention": ("global_rope_theta", True), "sliding_attention": ("local_rope_theta", True)}
_NEOX = {"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"}
#: How a class spells the keys beside rope_parameters, where not as the others do.
BESIDE = {"gpt_neox": _NEOX, "gpt_neox_japanese": _NEOX}
#: How older files of a model type with several rotations spell them.
OLDER_KEYS: dict[str, rope.Older] = {
    "gemma3_text": _GEMMA,
    "gemma3n_text": _GEMMA,
    "t5gemma2_text": _GEMMA,
    "t5gemma2_decoder": _GEMMA,
    "modernbert": _MODERN_BERT,
    "modernbert-decoder": _MODERN_BERT,
    # Its class takes the base of the file for the full layers alone.
    "olmo3": {"full_attention": ("rope_theta", True), "sliding_attention": (None, False)},
}


@dataclass(frozen=True)
class Options:
    """What the caller asks for besides: the length served, the arithmetic, and keys that may go unread."""

    length: int | None = None
    numerics: Numerics = "exact"
    waive: frozenset[str] = frozenset()


def groups(
    fields: Fields, model_type: str, known: ModelClass, family: Family, options: Options
) -> tuple[LayerGroup, ...]:
    """A group for each type of layer."""
    kinds = layer_types(fields, model_type)
    ropes = by_type(fields, model_type, known, kinds)
    made = []
    for kind in dict.fromkeys(kinds):
        layers, values = indices(kinds, kind), ropes.get(kind)
        turns = values is not None and kind not in UNPLACED and (family.rotated is None or kind in family.rotated)
        if values is None or not turns:
            made.append(LayerGroup(family.part, kind, layers, ()))
        else:
            made.append(group(fields, kind, layers, values, family, options))
    return tuple(made)


def by_type(fields: Fields, model_type: str, known: ModelClass, kinds: tuple[str, ...]) -> Mapping[str, Rope | None]:
    """The rope values of every type of layer; None for a type without rotation."""
    if rope.nested(known.absent):
        return rope.by_label(fields, known, OLDER_KEYS.get(model_type, {}))
    return dict.fromkeys(kinds, rope.flat(fields, known, rope.BESIDE | BESIDE.get(model_type, {})))


def group(
    fields: Fields, kind: str, layers: tuple[int, ...], values: Rope, family: Family, options: Options
) -> LayerGroup:
    """One type of layer."""
    name = rope.type_of(values)
    strangers = [
        key for key in rope.unknown(values) if key not in options.waive and key.split(".")[-1] not in options.waive
    ]
    if strangers:
        raise ValueError(refusal(strangers))
    longest = fields.get("max_position_embeddings")
    head = head_of(fields, values, name, family)
    record = rope.rotation(values, head, family.pairing, longest, options.length, options.numerics)
    return LayerGroup(
        part=family.part,
        attention=kind,
        layers=layers,
        encodings=(record,),
        logit_factor=_sharpened(values, name, family),
        values=(*sources(fields, values, name), *_widths(fields)),
        notes=rope.ignored(name, values),
    )


def refusal(keys: list[str]) -> str:
    """The error for keys that nobody understands."""
    return (
        f"{keys[0]} must be understood, since it concerns positions; got a key that is not known here"
        f"{f' (nor {keys[1:]})' if keys[1:] else ''}. If it is harmless, give waive=({', '.join(map(repr, keys))},)."
    )


def head_of(fields: Fields, values: Rope, name: str, family: Family) -> rope.Head:
    """The width of a head, and how much of it turns."""
    if family.head == "latent":
        turning, still = fields.integer("qk_rope_head_dim"), fields.integer("qk_nope_head_dim", 0)
        return rope.Head(turning + still, turning, still)
    stated = None if family.head == "divided" else fields.get("head_dim")
    dim = (
        fields.integer("head_dim") if stated else fields.integer("hidden_size") // fields.integer("num_attention_heads")
    )
    if name == "proportional" or not (family.partial or name != "default"):
        return rope.Head(dim, dim)
    width = int(dim * real(values, "partial_rotary_factor", 1.0))
    if width % 2 or not 0 < width <= dim:
        raise ValueError(
            f"partial_rotary_factor must leave an even number of channels of a head of {dim}; got {width}. Look at head_dim, "
            "or at hidden_size and num_attention_heads."
        )
    return rope.Head(dim, width)


def sources(fields: Fields, values: Rope, name: str) -> tuple[Value, ...]:
    """The values that count for this type of rotation."""
    reads = READS[name] | {"rope_type", "rope_theta"}
    return tuple(value for key, value in values.items() if key in reads and value.value is not None)


def _widths(fields: Fields) -> tuple[Value, ...]:
    wanted = (
        "head_dim",
        "hidden_size",
        "num_attention_heads",
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "max_position_embeddings",
    )
    return tuple(value for value in fields.values if value.name in wanted)


def _sharpened(values: Rope, name: str, family: Family) -> float:
    if not family.sharpens or name == "default" or not has(values, "mscale_all_dim") or not has(values, "factor"):
        return 1.0
    return YaRN(real(values, "factor"), 2**30, mscale=1.0, mscale_all_dim=real(values, "mscale_all_dim")).softmax_factor
