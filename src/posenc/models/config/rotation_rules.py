"""Rotations of the layers, by their rope_parameters: a rule for each habit of the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from posenc.core import validation
from posenc.models.config.config_classes import UNKNOWN_CLASS, nested
from posenc.models.config.fields import Fields, wrong
from posenc.models.config.layer_type_rules import rope_flags
from posenc.models.config.rope_parameters import (
    OUTER_KEYS,
    TRAINED,
    OlderBase,
    RopeParameters,
    note_overridden,
    one_rotation,
    rope_values,
    rotation_by_layer_type,
)
from posenc.models.model_positions import Value

#: For every layer the rotation that it uses; None where it does not rotate.
LayerRotations = tuple[RopeParameters | None, ...]
#: The rotations of the layers, by the type of each.
RotationRule = Callable[[Fields, tuple[str, ...]], LayerRotations]
#: Layer types whose queries and keys are not of the same tokens, or that have none.
NO_SELF_ATTENTION = frozenset(
    {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "moe", "mlp", "cross_attention"}
)


@dataclass(frozen=True)
class ByLayerType:
    """Every layer with attention rotates, by one rotation for all or by one for its type.

    Attributes:
        only: The types that rotate, where not all do.
        unwindowed: Where sliding_window is null: whether "only" these types rotate as ever, "all" do, or "none" does.
        where: A key, what it must be for any layer to rotate, and the other words that it may be, if not any.
        keys: The class's spelling of keys next to rope_parameters.
        older: The spelling of the bases of the types in older files.
        base: The key of the base, or the base itself, of a class that reads no rope_parameters.
        older_type: Whether an object for a type of layer may spell rope_type "type".
        share: Of the channels at rope_type "default", where the class fills in none and rotates a part.
    """

    only: tuple[str, ...] = ()
    unwindowed: Literal["only", "all", "none"] = "only"
    where: tuple[str, bool] | tuple[str, ...] | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    older: Mapping[str, OlderBase] = field(default_factory=dict)
    base: str | float | None = None
    older_type: bool = True
    share: float | None = None

    def __call__(self, fields: Fields, types: tuple[str, ...]) -> LayerRotations:
        rotates, ropes = self._is_met(fields), self._ropes(fields, types)
        return tuple(
            ropes.get(layer_type) if rotates and self._includes(fields, layer_type) else None for layer_type in types
        )

    def _is_met(self, fields: Fields) -> bool:
        if self.where is None:
            return True
        key, wanted, *others = self.where
        if isinstance(wanted, bool):
            return fields.flag(key) is wanted
        choice = fields.get(key)
        if choice is not None and others and choice.value not in (wanted, *others):
            raise ValueError(
                f"{choice.key} must be one of {', '.join(map(repr, (wanted, *others)))} to be read; got "
                f"{validation.shown(choice.value)}, "
                "which no encoding holds yet. Compare its scores by hand."
            )
        return choice is not None and choice.value == wanted

    def _ropes(self, fields: Fields, types: tuple[str, ...]) -> Mapping[str, RopeParameters | None]:
        if isinstance(self.base, str):
            return dict.fromkeys(types, RopeParameters((replace(fields.require(self.base), name="rope_theta"),)))
        if self.base is not None:
            base = Value("rope_theta", self.base, "class default", "a constant of the class")
            return dict.fromkeys(types, RopeParameters((base,)))
        if nested(fields.config_class.absent):
            ropes = rotation_by_layer_type(fields, types, self.older, older_type=self.older_type)
            return {name: rope and self._with_usual_share(rope) for name, rope in ropes.items()}
        rope = one_rotation(fields, {**OUTER_KEYS, **self.keys})
        return dict.fromkeys(types, rope)

    def _with_usual_share(self, rope: RopeParameters) -> RopeParameters:
        if self.share is None or rope.rope_type != "default" or rope.get("partial_rotary_factor") is not None:
            return rope
        return rope.updated(Value("partial_rotary_factor", self.share, "class default", "a constant of the class"))

    def _includes(self, fields: Fields, layer_type: str) -> bool:
        if layer_type in NO_SELF_ATTENTION:
            return False
        if self.unwindowed != "only" and fields.get("sliding_window", listed=False) is None:
            return self.unwindowed == "all"
        return not self.only or layer_type in self.only


def share_or_rotary_dim(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """MiniMax-M2: where no partial_rotary_factor is stated, rotary_dim channels rotate."""
    rope = one_rotation(fields)
    if fields.states("rotary_dim") and not any(value.name == "partial_rotary_factor" for value in rope.values):
        count = fields.require("rotary_dim")
        fraction = fields.integer("rotary_dim") / fields.integer("head_dim")
        rope = rope.updated(Value("partial_rotary_factor", fraction, count.source, count.key))
    return (rope,) * len(types)


def share_beside_rotary_dim(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """MiniMax-M3: its class never reads rotary_dim, by which its files repeat the share."""
    fields.mark_idle("rotary_dim", fields.data.get("rotary_dim"))
    return (one_rotation(fields),) * len(types)


def no_layer_rotates(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Jamba, Mamba: no layer rotates, and nothing else encodes positions."""
    return (None,) * len(types)


def sliding_and_first_dense(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Cohere 2 with experts: layers with a window rotate, and so do the dense ones at the start."""
    rope, windowed = one_rotation(fields), fields.get("sliding_window", listed=False) is not None
    forced = _dense_layers(fields, len(types)) if fields.integer("prefix_dense_sliding_window_pattern") == 1 else ()
    return tuple(
        rope if (windowed and layer_type == "sliding_attention") or i in forced else None
        for i, layer_type in enumerate(types)
    )


def _dense_layers(fields: Fields, count: int) -> frozenset[int]:
    """Return the layers that mlp_layer_types calls dense, else the first first_k_dense_replace layers."""
    listed = fields.get("mlp_layer_types", listed=False)
    if listed is not None and isinstance(listed.value, tuple):
        return frozenset(i for i, kind in enumerate(listed.value) if kind == "dense")
    return frozenset(range(min(fields.integer_or("first_k_dense_replace", 0, 0), count)))


def bases_by_width(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Dots 3 Note: a rotation for each type of layer; widths, and no key, say which share of a head rotates."""
    stated = fields.json_object("rope_parameters")
    if (stated is not None and not nested(stated[0])) or fields.json_object("rope_scaling"):
        raise ValueError(
            f"{fields.where}rope_parameters must hold an object for each type of layer; got one for all. "
            "Write one for each."
        )
    bases = {} if stated else {"sliding_attention": "swa_rope_theta"}
    older = {name: OlderBase(bases.get(name, "rope_theta")) for name in types}
    # Full layers rotate as indexed ones do, unless the file has an object for them.
    own = stated is not None and "full_attention" in stated[0]
    needed = tuple(name if own or name != "full_attention" else "indexed_attention" for name in types)
    ropes = rotation_by_layer_type(fields, needed, older)
    ropes.setdefault("full_attention", ropes.get("indexed_attention"))
    for rope in ropes.values():
        if rope is not None and rope.rope_type == "proportional":
            raise ValueError(
                f"{rope.key('rope_type')} must not be 'proportional', which the class computes from another width "
                "than the rotated one. Choose another."
            )
    slices = {name: rope and rope.without(["partial_rotary_factor"]) for name, rope in ropes.items()}
    return tuple(slices.get(layer_type) for layer_type in types)


def yarn_is_longrope(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Phi-3, Phi-4 multimodal: the class takes "yarn", as older files have it, for longrope."""
    rope = one_rotation(fields)
    if rope.rope_type == "yarn" and (stated := rope.get("rope_type")) is not None:
        if not (rope.get("short_factor") and rope.get("long_factor")):
            raise ValueError(
                f"{stated.key} must not be 'yarn' without short_factor and long_factor, since its class takes it for "
                "'longrope', which needs both. Add them; for YaRN choose another class."
            )
        rope = rope.updated(replace(stated, value="longrope"))
    return (rope,) * len(types)


def short_or_long_mscale(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """PhiMoE states itself what cos and sin are multiplied by, for short and for long contexts."""
    rope = one_rotation(fields)
    if rope.rope_type != "default":
        longest = fields.get("max_position_embeddings")
        served = fields.options.length or (RopeParameters((longest,)).real(longest.name) if longest else 0)
        chosen = "long_mscale" if served > rope.real(TRAINED) else "short_mscale"
        factor = rope.real(chosen)
        rope = rope.updated(Value("attention_factor", factor, "file", rope.key(chosen)))
    return (rope,) * len(types)


def base_in_attn_config(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """DBRX: attn_config holds the base, as its checkpoints were trained."""
    rope, attention = one_rotation(fields), fields.json_object("attn_config")
    if attention is not None and attention[0].get("rope_theta") is not None:
        key = f"{fields.where}attn_config.rope_theta"
        stated = Value("rope_theta", attention[0]["rope_theta"], attention[1], key)
        if "rope_theta" not in fields.options.stated:
            note_overridden(fields, {"rope_theta": stated}, [one for one in rope.values if one.name == "rope_theta"])
            rope = rope.updated(stated)
    return (rope,) * len(types)


def object_for_each_type(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Cohere Compass: an object for each type of layer, or null for one without rotation; its class knows no other."""
    ropes = rotation_by_layer_type(fields, types)
    missing = sorted(set(types) - set(ropes))
    if missing:
        raise ValueError(f"{fields.where}rope_parameters must hold an object or null for {missing}; got none. Add it.")
    return tuple(ropes[layer_type] for layer_type in types)


def by_no_rope_layers(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Llama 4, SmolLM3: one rotation for the layers with 1 in no_rope_layers, None for those with 0."""
    flags, rope = rope_flags(fields, len(types)), one_rotation(fields)
    return tuple(rope if rotates else None for rotates in flags)


def base_by_layer_rope_theta(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Granite with windows: layer_rope_theta is the base of every layer, 0 for none."""
    rope, thetas = one_rotation(fields), _listed(fields, "layer_rope_theta", len(types))
    if thetas is None:
        return (rope,) * len(types)
    return tuple(
        rope.updated(Value("rope_theta", theta, "file", "layer_rope_theta")) if theta else None for theta in thetas
    )


def where_layer_rope_theta(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Muse: layer_rope_theta says which layers rotate; the base is that of rope_parameters for all."""
    thetas, count, rope = _listed(fields, "layer_rope_theta", len(types)), len(types), one_rotation(fields)
    flags = thetas if thetas is not None else [(count - 1 - i) % 4 != 0 for i in range(count)]
    return tuple(rope if rotates else None for rotates in flags)


def _listed(fields: Fields, name: str, count: int) -> list[float] | None:
    listed = fields.get(name)
    if listed is None:
        return None
    if not isinstance(listed.value, tuple) or len(listed.value) != count:
        raise ValueError(wrong(listed.key, f"must hold a number for each of {count} layers", listed.value))
    return [validation.real(listed.key, value, 0.0, 1e30) for value in listed.value]


def unless_rope_theta_null(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """OLMo hybrid: attention rotates unless rope_theta is null, as it is in its checkpoints."""
    rope = one_rotation(fields)
    return tuple(rope if rope.get("rope_theta") and layer_type == "full_attention" else None for layer_type in types)


def scaled_in_listed_layers(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Molmo 2: layers outside rope_scaling_layers rotate without the scaling."""
    rope, listed = one_rotation(fields), fields.get("rope_scaling_layers")
    scaled = range(len(types)) if listed is None else listed.value if isinstance(listed.value, tuple) else ()
    plain = RopeParameters(tuple(value for value in rope.values if value.name in OUTER_KEYS))
    return tuple(rope if i in scaled else plain for i in range(len(types)))


def main_and_compress(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """DeepSeek-V4: layers with a window have one rotation, those on compressed keys another, which alone is scaled."""
    stated = fields.json_object("rope_parameters")
    older = ("rope_theta", "compress_rope_theta", "partial_rotary_factor", "qk_rope_head_dim")
    by_label = nested(stated[0]) if stated else not any(map(fields.states, older))
    if stated and by_label and not all(isinstance(stated[0].get(label), Mapping) for label in ("main", "compress")):
        raise ValueError(
            f"{fields.where}rope_parameters must hold both main and compress, since its class drops one alone; got "
            f"{validation.shown(stated[0])}. Write both."
        )
    if fields.json_object("rope_scaling") is None and by_label:
        fields.mark_used(*older)
        # Of a file, a base outside of the objects counts for both of them; a caller who states one means one.
        bases = {"main": OlderBase("rope_theta"), "compress": OlderBase("compress_rope_theta")}
        stated_base = any(base.key in fields.options.stated for base in bases.values())
        ropes = rotation_by_layer_type(fields, ("main", "compress"), bases if stated_base else None)
        main, compress = ropes["main"], ropes["compress"]
        for label, rope in (("main", main), ("compress", compress)):
            if rope is not None and rope.get("partial_rotary_factor") is None:
                raise ValueError(
                    f"{fields.where}rope_parameters.{label}.partial_rotary_factor must be in the file, since its class "
                    f"fills it in at some rope_types alone; got {sorted(stated[0][label]) if stated else None}. Add it."
                )
    else:
        main, compress = _main_and_compress_from_older_keys(fields)
    return tuple(main if layer_type == "sliding_attention" else compress for layer_type in types)


def _main_and_compress_from_older_keys(fields: Fields) -> tuple[RopeParameters, RopeParameters]:
    rope = one_rotation(fields, {"rope_theta": "rope_theta"}, UNKNOWN_CLASS)
    share = fields.get("partial_rotary_factor")
    if share is None or share.source == "class default":
        stated = fields.states("qk_rope_head_dim")
        fraction = fields.integer("qk_rope_head_dim") / fields.integer("head_dim") if stated else 0.125
        share = Value("partial_rotary_factor", fraction, "file" if stated else "class default", "qk_rope_head_dim")
    theta = replace(fields.require("compress_rope_theta"), name="rope_theta")
    scaled = rope.updated(theta, share)
    if scaled.rope_type == "yarn" and not any(value.name == "attention_factor" for value in scaled.values):
        scaled = scaled.updated(Value("attention_factor", 1.0, "class default", "attention_factor"))
    return RopeParameters((fields.require("rope_theta"), share)), scaled


def lists_by_layer(fields: Fields, types: tuple[str, ...]) -> LayerRotations:
    """Step 3.5: bases and fractions listed for every layer, of which the class takes the first of each type."""
    stated = fields.json_object("rope_parameters")
    if stated is not None:
        if not all(isinstance(stated[0].get(layer_type), Mapping) for layer_type in types):
            raise ValueError(
                f"{fields.where}rope_parameters must hold an object for each of {sorted(set(types))}, or its class "
                f"drops it; got {validation.shown(stated[0])}. Write one for each, or none."
            )
        by_type = rotation_by_layer_type(fields, types)
        return tuple(by_type[layer_type] for layer_type in types)
    thetas, shares = fields.get("rope_theta"), fields.get("partial_rotary_factors")
    scaling = fields.json_object("rope_scaling")
    ropes = {}
    for layer_type in dict.fromkeys(types):
        values = [_entry(fields, "rope_theta", thetas, types.index(layer_type))]
        if shares is not None:
            values.append(_entry(fields, "partial_rotary_factor", shares, types.index(layer_type)))
        ropes[layer_type] = RopeParameters(tuple(values))
        if scaling is not None and layer_type == "full_attention":
            ropes[layer_type] = ropes[layer_type].updated(
                *rope_values(*scaling, f"{fields.where}rope_scaling.", older_type=False).values()
            )
    return tuple(ropes[layer_type] for layer_type in types)


def _entry(fields: Fields, name: str, value: Value | None, index: int) -> Value:
    """The value of one layer, from a list for all layers or one number."""
    if value is None:
        default = (fields.config_class.absent or {})["full_attention"]["rope_theta"]
        return Value(name, default, "class default", "rope_parameters.full_attention.rope_theta")
    if not isinstance(value.value, tuple):
        return replace(value, name=name)
    if index >= len(value.value):
        raise ValueError(f"{value.key} must have a number for every layer; got {len(value.value)}. Correct the config.")
    return replace(value, name=name, value=value.value[index])
