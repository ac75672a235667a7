"""Models that rotate queries and keys: a group for each type of layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from posenc.compose import Backward
from posenc.encodings.rotates.temperature import StepTemperature
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.frequencies import YaRN
from posenc.models.config import rope_parameters
from posenc.models.config.config_classes import ModelClass
from posenc.models.config.fields import Fields
from posenc.models.config.head_dim import head_dim, head_of, number
from posenc.models.config.layer_rotations import ropes
from posenc.models.config.layer_types import layer_types
from posenc.models.config.model_types import Family
from posenc.models.config.pair_axes import SECTIONS, STATED, Allotment, allotted
from posenc.models.config.rope_scaling import READS, has, real
from posenc.models.config.vision_tables import beside
from posenc.models.model_positions import LayerGroup, Value
from posenc.phase import Numerics

Rope = Mapping[str, Value]
#: Keys inside rope_parameters that some classes read besides.
EXTRA: dict[str, frozenset[str]] = {
    "hunyuan_v1_dense": frozenset({"alpha"}),
    "hunyuan_v1_moe": frozenset({"alpha"}),
    "hunyuan_vl_text": frozenset({"alpha", "xdrope_section"}),
    "ministral3": frozenset({"llama_4_scaling_beta", "max_position_embeddings"}),
    "mistral4": frozenset({"llama_4_scaling_beta", "max_position_embeddings"}),
    "phimoe": frozenset({"short_mscale", "long_mscale"}),
}
#: Keys inside rope_parameters of models with several axes.
AXES_KEYS = frozenset({"mrope_section", "mrope_interleaved"})
#: Speech models that rotate or see the distance, and keys of theirs that only size their tables.
CONFORMERS = ("wav2vec2-bert", "wav2vec2-conformer")
SIZES = (
    "max_source_positions", "num_conv_pos_embeddings", "num_conv_pos_embedding_groups", "left_max_position_embeddings",
    "right_max_position_embeddings",
)  # fmt: skip
CONVOLVED = "a convolution over neighbouring places is added before the first layer, which no record holds"
#: Keys that an error names.
MOST_NAMED = 5
#: Notes on classes whose name or habit misleads.
NOTES = {
    **dict.fromkeys(
        ("dinov3_vit", "eomt_dinov3", "sapiens2"),
        "positions are 2π times the centres of patches in coordinates from -1 to 1",
    ),
    **dict.fromkeys(
        ("wav2vec2-bert", "wav2vec2-conformer"),
        "the layer turns its input, before queries and keys are made of it",
    ),
    "clvp_encoder": "values are turned as queries and keys are, and the output is not turned back",
    "efficientloftr": "queries and keys turn before they are cut into heads, in self-attention alone; places of the aggregated map "
    "count from 1",
    "llama4_vision_model": "positions of patches count from 1; the class token does not turn",
    "mlcd_vision_model": "the class token turns by learned angles",
    "llama4_text": "no_rope_layers holds 1 for a layer that does rotate",
    "smollm3": "no_rope_layers holds 1 for a layer that does rotate",
    "olmo3": "the class takes rope_theta of an older file for its full layers alone",
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
    """A group for each type of layer and rotation."""
    if model_type in CONFORMERS:
        fields.use(SIZES)
    kinds, before = layer_types(fields, model_type), beside(fields, model_type)
    made, labels = ropes(fields, model_type, known, family, kinds)
    found = list(before)
    for kind, label in dict.fromkeys(zip(kinds, labels, strict=True)):
        layers = tuple(i for i, both in enumerate(zip(kinds, labels, strict=True)) if both == (kind, label))
        values = made[label] if label is not None else None
        if values is None:
            found.append(still(fields, model_type, kind, layers, family))
        else:
            found.append(group(fields, model_type, kind, layers, values, family, options))
    return tuple(found)


def still(fields: Fields, model_type: str, kind: str, layers: tuple[int, ...], family: Family) -> LayerGroup:
    """Layers that do not rotate."""
    heat = None
    if model_type == "llama4_text" and fields.truth("attn_temperature_tuning"):
        dim, scale = head_dim(fields, family, kind, layers), number(fields, "attn_scale")
        heat = StepTemperature(dim, scale, fields.integer("floor_scale", 1, 2**30), start=1)
    if model_type in CONFORMERS:
        return _conformer(fields, model_type, kind, layers, family)
    return LayerGroup(family.part, kind, layers, (), query_temperature=heat)


def _conformer(fields: Fields, model_type: str, kind: str, layers: tuple[int, ...], family: Family) -> LayerGroup:
    """Speech models whose scores see the distance, unless position_embeddings_type is null."""
    chosen, notes = fields.get("position_embeddings_type"), (CONVOLVED,) * (model_type == "wav2vec2-conformer")
    if chosen is None:
        return LayerGroup(family.part, kind, layers, (), notes=notes)
    width, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    record = TransformerXL(width // heads, heads, width)
    turns = "linear_pos reads sine and cosine of a frequency side by side, where W_R has all sines first"
    return LayerGroup(family.part, kind, layers, (record,), values=(chosen, *_widths(fields)), notes=(turns, *notes))


def group(
    fields: Fields, model_type: str, kind: str, layers: tuple[int, ...], values: Rope, family: Family, options: Options
) -> LayerGroup:
    """Layers that rotate alike."""
    name, extra = (
        rope_parameters.type_of(values),
        EXTRA.get(model_type, frozenset()) | (AXES_KEYS if family.axes else frozenset()),
    )
    strangers = [key for key in rope_parameters.unknown(values, extra) if not {key, key.split(".")[-1]} & options.waive]
    if strangers:
        raise ValueError(refusal(strangers))
    values = {key: value for key, value in values.items() if key not in options.waive}
    longest = fields.get("max_position_embeddings")
    if model_type == "phimoe":
        values = _own_factor(values, name, longest, options)
    head = head_of(fields, values, name, family, kind, layers)
    pairing = pairing_of(fields, family)
    allotment, sections = _allotment(values, head.width, model_type, family)
    record = rope_parameters.rotation(values, head, pairing, longest, options.length, options.numerics, allotment)
    record = Backward(record) if family.backward else record
    return LayerGroup(
        part=family.part,
        attention=kind,
        layers=layers,
        encodings=(record,),
        logit_factor=_sharpened(values, name, family),
        query_temperature=_temperature(values, head.dim),
        values=(*sources(values, name), *sections, *_widths(fields)),
        notes=(
            *rope_parameters.ignored(name, values, extra),
            *((NOTES[model_type],) if model_type in NOTES else ()),
            *((CONVOLVED,) if model_type == "wav2vec2-conformer" else ()),
        ),
    )


def _own_factor(values: Rope, name: str, longest: Value | None, options: Options) -> Rope:
    """PhiMoE states what cos and sin are multiplied by itself, for short and for long contexts."""
    if name == "default":
        return values
    served = options.length or (int(real({"longest": longest}, "longest")) if longest else 0)
    chosen = "long_mscale" if served > real(values, rope_parameters.TRAINED) else "short_mscale"
    return {**values, "attention_factor": Value("attention_factor", real(values, chosen), "file", values[chosen].key)}


def _allotment(values: Rope, width: int, model_type: str, family: Family) -> tuple[Allotment | None, tuple[Value, ...]]:
    """Which axis every pair reads, and where the sections that say so come from; None for one axis."""
    if not family.axes:
        return None, ()
    if family.axes not in STATED:
        return allotted(family.axes, width, None), ()
    given, older = values.get("mrope_section"), values.get("xdrope_section")
    if given is not None and older is not None and given.value != older.value:
        raise ValueError(
            f"mrope_section must be what xdrope_section says, its older name; got {given.value!r} and {older.value!r}. Keep one."
        )
    given = given or older
    if given is None or given.value is None:
        given = Value("mrope_section", SECTIONS.get(model_type), "class default", "rope_parameters.mrope_section")
    return allotted(family.axes, width, given.value), (given,)


def refusal(keys: list[str]) -> str:
    """The error for keys that nobody understands."""
    return (
        f"{keys[0][:80]} must be understood, since it concerns positions; got a key that is not known here"
        f"{f' (nor {_named(keys[1:])})' if keys[1:] else ''}. If it is harmless, give waive=({_named(keys)},)."
    )


def _named(keys: list[str]) -> str:
    """The keys, or the first of many; each cut where nobody would read on."""
    more = f", and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    return ", ".join(repr(key) if len(key) < 80 else f"{key[:80]!r}..." for key in keys[:MOST_NAMED]) + more


def pairing_of(fields: Fields, family: Family) -> Literal["adjacent", "halves"]:
    """Which channels turn together; checkpoints of some classes come in both layouts, and their files say which."""
    if family.pairing == "interleave":
        return "adjacent" if fields.truth("rope_interleave") else "halves"
    return family.pairing


def sources(values: Rope, name: str) -> tuple[Value, ...]:
    """The values that count for this type of rotation."""
    reads = (
        READS[name] | {"rope_type", "rope_theta", "llama_4_scaling_beta"} | ({"alpha"} if name == "dynamic" else set())
    )
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
    return tuple(value for value in fields.values if value.name in (*wanted, "rope_interleave"))


def _sharpened(values: Rope, name: str, family: Family) -> float:
    if not family.sharpens or name == "default" or not has(values, "mscale_all_dim") or not has(values, "factor"):
        return 1.0
    both: Any = {"mscale": 1.0, "mscale_all_dim": real(values, "mscale_all_dim")}
    return YaRN(real(values, "factor"), 2**30, **both).softmax_factor


def _temperature(values: Rope, dim: int) -> StepTemperature | None:
    if not has(values, "llama_4_scaling_beta"):
        return None
    return StepTemperature(
        dim, real(values, "llama_4_scaling_beta"), int(real(values, rope_parameters.TRAINED)), start=0
    )
