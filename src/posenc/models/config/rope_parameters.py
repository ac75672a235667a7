"""Values of a rotation, from rope_parameters or rope_scaling, the keys next to them and the class's defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from posenc.core import validation
from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, Scaling, YaRN
from posenc.models.config.config_classes import ConfigClass, nested
from posenc.models.config.fields import Fields, immutable
from posenc.models.model_positions import Plain, Source, Value


@dataclass(frozen=True)
class RopeType:
    """Rules of a rope_type: its scaling, and the keys of rope_parameters that it reads.

    Attributes:
        scaling: The class of its scalings.
        fields: The keys of rope_parameters that it reads, each with the field of the scaling that it sets.
        partial: Whether partial_rotary_factor counts.
    """

    scaling: type[Scaling] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    partial: bool = True

    @property
    def reads(self) -> frozenset[str]:
        """The keys that count, besides "rope_type", "type" and "rope_theta", which all types read."""
        return frozenset(self.fields) | ({"partial_rotary_factor"} if self.partial else frozenset())


_FACTOR = {"factor": "factor"}
_TRAINED = {"original_max_position_embeddings": "original"}
ROPE_TYPES: dict[str, RopeType] = {
    "default": RopeType(),
    "axial": RopeType(partial=False),
    "linear": RopeType(Linear, _FACTOR),
    "dynamic": RopeType(DynamicNTK, _FACTOR),
    "proportional": RopeType(Proportional, {"partial_rotary_factor": "fraction", **_FACTOR}),
    "llama3": RopeType(Llama3, {**_FACTOR, **_TRAINED, "low_freq_factor": "low", "high_freq_factor": "high"}),
    "yarn": RopeType(
        YaRN,
        {
            **_FACTOR,
            **_TRAINED,
            "beta_fast": "beta_fast",
            "beta_slow": "beta_slow",
            "truncate": "truncate",
            "mscale": "mscale",
            "mscale_all_dim": "mscale_all_dim",
            "attention_factor": "attention",
        },
    ),
    "longrope": RopeType(
        LongRoPE,
        {**_FACTOR, **_TRAINED, "short_factor": "short", "long_factor": "long", "attention_factor": "attention"},
    ),
}
#: Names of a rope_type in older files.
OLDER_TYPES = {"su": "longrope", "mrope": "default", "xdrope": "dynamic"}
#: Keys that are understood, whether the type at hand reads them or not.
KNOWN_KEYS = frozenset().union(*(rope_type.reads for rope_type in ROPE_TYPES.values())) | {
    "rope_type", "type", "rope_theta", "mrope_section", "mrope_interleaved",
}  # fmt: skip


#: Keys next to rope_parameters that older files have in place of keys inside, by their names inside.
OUTER_KEYS = {"rope_theta": "rope_theta", "partial_rotary_factor": "partial_rotary_factor"}
TRAINED = "original_max_position_embeddings"


@dataclass(frozen=True)
class OlderBase:
    """The spelling of the base of one type of layer in older files.

    Args:
        key: Of the base.
        scaled: Whether rope_scaling concerns these layers; these classes read its rope_type, and not the older "type",
            since they have filled in "default" before they look at it.
    """

    key: str | None
    scaled: bool = False


@dataclass(frozen=True)
class RopeParameters:
    """The values that make one rotation, under the names that rope_parameters gives them; some may be null.

    Attributes:
        values: Those that count.
        unread: Those of keys that the class does not read.
    """

    values: tuple[Value, ...]
    unread: tuple[Value, ...] = ()

    def get(self, name: str) -> Value | None:
        """Return the value of this name; None where it is missing or null."""
        for value in self.values:
            if value.name == name and value.value is not None:
                return value
        return None

    def key(self, name: str) -> str:
        """Return the place of a value in the file; its name where it has none."""
        value = self.get(name)
        return name if value is None else value.key

    def real(self, name: str, default: float | None = None) -> float:
        """Return a value as a float, or `default` where it is absent; ValueError where there is neither."""
        value = self.get(name)
        if value is not None:
            return validation.real(value.key, value.value, 0.0, 1e30)
        if default is not None:
            return default
        raise ValueError(f"{name} must be in rope_parameters for this rope_type; got none. Add it, or state it.")

    @property
    def rope_type(self) -> str:
        """The rope_type, older names translated; "default" where none is stated."""
        value = self.get("rope_type")
        if value is None:
            return "default"
        return validation.choice(value.key, OLDER_TYPES.get(str(value.value), value.value), tuple(ROPE_TYPES))

    def updated(self, *values: Value) -> RopeParameters:
        """Return a copy with these values added, in place of those of the same names."""
        return RopeParameters(_frozen({value.name: value for value in (*self.values, *values)}).values, self.unread)

    def without(self, names: Iterable[str]) -> RopeParameters:
        left_out = frozenset(names)
        return RopeParameters(tuple(value for value in self.values if value.name not in left_out), self.unread)

    def read_by(self, also_known: frozenset[str]) -> RopeParameters:
        """Return a copy whose values of unknown keys are moved to `unread`; `also_known` keys are not unknown."""
        unknown = self.unknown_keys(also_known)
        unread = tuple(value for value in self.values if value.key in unknown)
        return RopeParameters(tuple(value for value in self.values if value.key not in unknown), unread)

    def left_out_by(self, names: Iterable[str], also_known: frozenset[str] = frozenset()) -> list[Value]:
        """Return the values that are waived by these names, or by the places in the file of unknown keys."""
        waived = frozenset(names)
        unknown = self.unknown_keys(also_known)
        return [
            value
            for value in self.values
            if value.value is not None and (value.name in waived or (value.key in waived and value.key in unknown))
        ]

    def unknown_keys(self, also_known: frozenset[str]) -> list[str]:
        """Keys that no reader understands, by their place in the file."""
        known = KNOWN_KEYS | also_known
        return [value.key for value in self.values if value.name not in known and value.value is not None]

    def unread_notes(self, also_read: frozenset[str]) -> tuple[str, ...]:
        """Notes on keys of the file that this rope_type does not read."""
        rope_type = self.rope_type
        reads = ROPE_TYPES[rope_type].reads | {"rope_type", "type", "rope_theta"} | also_read
        return tuple(
            f"{value.key} = {value.value!r} is not read by rope_type {rope_type!r}"
            for value in self.values
            if value.name in KNOWN_KEYS - reads and value.value is not None and value.source != "class default"
        )


def _frozen(values: Mapping[str, Value]) -> RopeParameters:
    return RopeParameters(tuple(values.values()))


def one_rotation(
    fields: Fields, keys: Mapping[str, str] = OUTER_KEYS, known: ConfigClass | None = None
) -> RopeParameters:
    """Return the values of the one rotation that all layers of a model share.

    In this order: what the caller states, rope_scaling or rope_parameters, keys next to them (as `keys` spells them),
    what the class fills in (`known`, or that of the config).
    """
    known = known or fields.config_class
    name = "rope_scaling" if fields.json_object("rope_scaling") else "rope_parameters"
    stated = fields.json_object(name)
    if stated is not None:
        rope = rope_values(*stated, f"{fields.where}{name}.")
        if known.filled and "rope_theta" not in {*known.filled, *rope, *fields.options.stated}:
            raise ValueError(
                f"{fields.where}{name}.rope_theta must be in the file, since its class fills in none there; got "
                f"{validation.shown(stated[0])}. Add it."
            )
        values = _completed(fields, rope, _defaults(known.filled), keys, known)
        note_overridden(fields, values, _next_to_scaling(fields, name))
        return _frozen(values)
    absent = (None if fields.states("rope_parameters") else _defaults(known.absent)) or _defaults(known.filled)
    return _frozen(_completed(fields, {}, absent, keys, known))


def rope_values(rope: Mapping[str, Any], source: Source, path: str, *, older_type: bool = True) -> dict[str, Value]:
    """Convert a rope dict to Values by key; with `older_type`, "type" stands in for a missing "rope_type"."""
    values = {key: Value(key, immutable(path + key, value), source, path + key) for key, value in rope.items()}
    if older_type and rope.get("rope_type") is None and rope.get("type") is not None:
        values["rope_type"] = replace(values["type"], name="rope_type")
    return values


def _next_to_scaling(fields: Fields, name: str) -> tuple[Value, ...]:
    """Return the values of a rope_parameters next to rope_scaling, which counts in its place."""
    overridden = fields.data.get("rope_parameters") if name == "rope_scaling" else None
    if not isinstance(overridden, Mapping) or nested(overridden):
        return ()
    return tuple(rope_values(overridden, "file", f"{fields.where}rope_parameters.").values())


def note_overridden(fields: Fields, counting: Mapping[str, Value], stated: Iterable[Value]) -> None:
    """Note the values of a file that do not count, since it says otherwise elsewhere or its class reads none there."""
    for value in stated:
        one = replace(value, name="rope_type") if value.name == "type" else value
        counts = counting.get(one.name)
        if one.source != "file" or one.value is None or (counts is not None and counts.source == "caller"):
            continue
        if counts is None or _current(one) != _current(counts):
            fields.mark_overridden(one, counts)


def _current(value: Value) -> Plain:
    """Return a value with a rope_type under its name of today."""
    return OLDER_TYPES.get(str(value.value), value.value) if value.name == "rope_type" else value.value


def _completed(
    fields: Fields, rope: Mapping[str, Value], filled: Mapping[str, Value], keys: Mapping[str, str], known: ConfigClass
) -> dict[str, Value]:
    """Complete rope values from keys next to the rope dict and from class defaults; a null in the file stays null."""
    values, others = dict(rope), []
    for name, key in keys.items():
        if key in fields.options.stated or (name not in values and fields.states(key)):
            values[name] = replace(fields.require(key), name=name)
        elif name not in values and key in fields.data:
            values[name] = Value(name, None, "file", fields.where + key)
        elif (outer := fields.get(key, listed=False)) is not None:
            others.append(replace(outer, name=name))
        fields.mark_used(key)
    values |= {name: value for name, value in filled.items() if name not in values}
    if "rope_theta" not in values and (outer := fields.get("rope_theta", listed=False)) is not None:
        values["rope_theta"] = outer
    if "rope_theta" not in values and "rope_theta" in (defaults := _defaults(known.absent)):
        values["rope_theta"] = defaults["rope_theta"]
    # A class or file that keeps the trained length next to the dict means that one, whatever the dict says:
    # transformers puts it into the dict when it computes frequencies, though not yet when it reads the file.
    trained = fields.get(TRAINED, listed=False)
    if trained is not None and _frozen(values).rope_type in ("llama3", "yarn", "longrope"):
        values[TRAINED] = trained
    note_overridden(fields, values, (*rope.values(), *others))
    return values


def rotation_by_layer_type(
    fields: Fields, types: tuple[str, ...], older: Mapping[str, OlderBase] | None = None, *, older_type: bool = True
) -> dict[str, RopeParameters | None]:
    """Return the rope values of each layer type of a model with a rotation for each; None for a type without one.

    older_type: whether the class reads "type" where "rope_type" is missing.
    """
    older = older or {}
    stated, source = fields.json_object("rope_parameters") or ({}, "file")
    _require_object_for_each_type(fields, stated, types, any(base.scaled for base in older.values()))
    absent = fields.config_class.absent or {}
    if fields.config_class.fills_layer_types:  # a null is filled in like an object without values
        stated = {name: {} if one is None and absent.get(name) else one for name, one in stated.items()}
    ropes: dict[str, RopeParameters | None] = {}
    for layer_type in dict.fromkeys([*absent, *stated]):
        of_type = stated[layer_type] if layer_type in stated else absent.get(layer_type)
        if of_type is None:
            ropes[layer_type] = None
            continue
        path = f"{fields.where}rope_parameters.{layer_type}"
        of_file = validation.instance(path, stated.get(layer_type) or {}, Mapping, "a JSON object")
        values = rope_values(of_file, source, f"{path}.", older_type=older_type)
        ropes[layer_type] = _of_layer_type(fields, layer_type, values, layer_type in stated, older)
    _note_older_bases(fields, ropes, older)
    fields.mark_used(*(base.key for base in older.values() if base.key))
    return ropes


def _note_older_bases(
    fields: Fields, ropes: Mapping[str, RopeParameters | None], older: Mapping[str, OlderBase]
) -> None:
    """Note a base next to the objects of the layer types that is the base of none of those it could be."""
    for key in {base.key for base in older.values() if base.key}:
        mine = [rope for name, rope in ropes.items() if rope and name in older and older[name].key == key]
        bases = [base for rope in mine if (base := rope.get("rope_theta")) is not None]
        outer = fields.get(key, listed=False)
        if outer is not None and bases and all(base.value != outer.value for base in bases):
            note_overridden(fields, {key: bases[0]}, [outer])


def _require_object_for_each_type(
    fields: Fields, stated: Mapping[str, Any], types: tuple[str, ...], reads_scaling: bool
) -> None:
    """Refuse a file from which the class would take no rotation for a type of its layers."""
    known, where = fields.config_class, fields.where
    absent = known.absent or {}
    if not reads_scaling and fields.json_object("rope_scaling"):
        raise ValueError(
            f"{where}rope_scaling must be left out, since its class reads an object for each type of layer in "
            "rope_parameters. Write it there."
        )
    if not nested(stated) and (stated or (absent and fields.states("rope_parameters"))):
        raise ValueError(
            f"{where}rope_parameters must hold an object for each type of layer, {sorted(absent)}, since its "
            f"class reads no other; got {validation.shown(stated)}. Write one for each."
        )
    missing = sorted({name for name in types if absent.get(name) is not None} - stated.keys())
    if stated and missing and not known.fills_layer_types:
        raise ValueError(
            f"{where}rope_parameters must hold an object for each type of layer that rotates, since its class fills in "
            f"none; {missing} is missing. Add it."
        )


def _of_layer_type(
    fields: Fields, layer_type: str, values: dict[str, Value], stated: bool, older: Mapping[str, OlderBase]
) -> RopeParameters:
    known, base = fields.config_class, older.get(layer_type, OlderBase("rope_theta"))
    scaling = fields.json_object("rope_scaling") if base.scaled else None
    of_file = [*values.values()]
    if scaling is not None:
        values = values | rope_values(*scaling, f"{fields.where}rope_scaling.", older_type=False)
        of_file += values.values()
    if base.key and (base.key in fields.options.stated or ("rope_theta" not in values and fields.states(base.key))):
        values["rope_theta"] = replace(fields.require(base.key), name="rope_theta")
    filled = (known.filled if stated or scaling is not None else known.absent) or {}
    for name, value in _defaults(filled.get(layer_type) or known.filled.get(layer_type), layer_type).items():
        if name not in values or values[name].value is None:
            values[name] = value
    # The class fills in its own share first; functions of scaled types then put one that stands outside where none is.
    share = "partial_rotary_factor"
    beside = (stated or scaling is not None) and share not in values and fields.states(share)
    if beside or share in fields.options.stated:
        values[share] = fields.require(share)
    note_overridden(fields, values, of_file)
    return _frozen(values)


def _defaults(rope: Mapping[str, Any] | None, layer_type: str = "") -> dict[str, Value]:
    path = f"rope_parameters.{layer_type}." if layer_type else "rope_parameters."
    return {key: Value(key, immutable(key, value), "class default", path + key) for key, value in (rope or {}).items()}
