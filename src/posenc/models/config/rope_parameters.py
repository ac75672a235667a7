"""rope_parameters, in both spellings of the files, as the values that count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from posenc import _check
from posenc.compose import Partial
from posenc.doors import Rotates
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.rotates.xd_rope import XDRoPE
from posenc.models.config.config_classes import ModelClass
from posenc.models.config.fields import Fields, plain
from posenc.models.config.pair_axes import Allotment
from posenc.models.config.rope_scaling import KNOWN, READS, TYPES, has, real, scaling_of
from posenc.models.model_positions import Source, Value
from posenc.phase import Numerics

Pairing = Literal["adjacent", "halves"]
#: Names of a rope_type in older files.
OLDER = {"su": "longrope", "mrope": "default", "xdrope": "dynamic"}
#: Keys that stood beside the others before rope_parameters took them in.
BESIDE = {"rope_theta": "rope_theta", "partial_rotary_factor": "partial_rotary_factor"}
TRAINED = "original_max_position_embeddings"
#: For each type of layer, the older key of its base, and whether rope_scaling concerns it.
Older = Mapping[str, tuple[str | None, bool]]


@dataclass(frozen=True)
class Head:
    """Which channels of a head turn: `width` of `dim`, from `start` on."""

    dim: int
    width: int
    start: int = 0


def flat(fields: Fields, known: ModelClass, beside: Mapping[str, str] = BESIDE) -> dict[str, Value]:
    """The values of a model with one rotation: what the caller states, rope_scaling or rope_parameters, keys beside them,
    and what the class fills in, in this order. beside: how the class spells the keys that stand beside."""
    given = fields.table("rope_scaling") or fields.table("rope_parameters")
    name = "rope_scaling" if fields.table("rope_scaling") else "rope_parameters"
    if given is None:
        absent = _defaults(known.absent) or _defaults(known.filled)
        if not known.heeds and "rope_theta" in beside.values() and not fields.stated.keys() & beside.values():
            return absent
        return _besides(fields, {}, absent, beside, known.theta)
    rope = values(given[0], given[1], f"{fields.where}{name}.")
    return _besides(fields, rope, _defaults(known.filled), beside, known.theta)


def values(rope: Mapping[str, Any], source: Source, path: str) -> dict[str, Value]:
    """A dict as values; the older "type" as "rope_type"."""
    found = {key: Value(key, plain(path + key, value), source, path + key) for key, value in rope.items()}
    if not has(found, "rope_type") and has(found, "type"):
        found["rope_type"] = Value("rope_type", found["type"].value, source, path + "type")
    return found


def _besides(
    fields: Fields, rope: dict[str, Value], filled: Mapping[str, Value], beside: Mapping[str, str], theta: Any
) -> dict[str, Value]:
    """Values completed from the keys beside them and from the class; a null that the file states stays one."""
    made = dict(rope)
    for name, key in beside.items():
        if key in fields.stated or (name not in made and fields.given(key)):
            made[name] = replace(fields.need(key), name=name)
        fields.use((key,))
    for name, value in filled.items():
        made.setdefault(name, value)
    if "rope_theta" not in made and (own := fields.get("rope_theta", keep=False)) is not None:
        made["rope_theta"] = own
    if "rope_theta" not in made and isinstance(theta, int | float):
        made["rope_theta"] = Value("rope_theta", theta, "class default", "default_theta")
    # A class or file that keeps the trained length beside the dict means that one, whatever the dict says.
    trained = fields.get(TRAINED, keep=False)
    if trained is not None and type_of(made) in ("llama3", "yarn", "longrope"):
        made[TRAINED] = trained
    return made


def nested(given: Mapping[str, Any] | None) -> bool:
    """Whether rope_parameters holds a dict for each type of layer."""
    return bool(given) and any(isinstance(value, Mapping) for value in (given or {}).values())


def by_label(fields: Fields, known: ModelClass, older: Older) -> dict[str, dict[str, Value] | None]:
    """The values of every type of layer of a model with a rotation for each; None for a type without one."""
    given = fields.table("rope_parameters")
    if given is not None and not nested(given[0]):
        raise ValueError(
            f"{fields.where}rope_parameters must hold an object for each type of layer, {sorted(known.absent or {})}, since its "
            f"class reads no other; got {_check.shown(given[0])}. Write one for each."
        )
    stated = given[0] if given else {}
    source = given[1] if given else "file"
    found: dict[str, dict[str, Value] | None] = {}
    for label in dict.fromkeys([*(known.absent or {}), *stated]):
        if (label in stated and stated[label] is None) or (
            label not in stated and (known.absent or {}).get(label) is None
        ):
            found[label] = None
            continue
        path = f"{fields.where}rope_parameters.{label}"
        own = values(_check.instance(path, stated.get(label) or {}, Mapping, "a JSON object"), source, f"{path}.")
        theta, scaled = older.get(label, ("rope_theta", False))
        scaling = fields.table("rope_scaling") if scaled else None
        if scaling is not None:
            own |= values(scaling[0], scaling[1], f"{fields.where}rope_scaling.")
        if "rope_theta" not in own and theta and fields.given(theta):
            own["rope_theta"] = replace(fields.need(theta), name="rope_theta")
        filled = (known.absent if label not in stated and scaling is None else known.filled) or {}
        for name, value in _defaults(filled.get(label) or (known.filled.get(label)), label).items():
            if not has(own, name):
                own[name] = value
        found[label] = own
    fields.use(theta for theta, _ in older.values() if theta)
    return found


def _defaults(rope: Mapping[str, Any] | None, label: str = "") -> dict[str, Value]:
    path = f"rope_parameters.{label}." if label else "rope_parameters."
    return {key: Value(key, plain(key, value), "class default", path + key) for key, value in (rope or {}).items()}


def type_of(rope: Mapping[str, Value]) -> str:
    """The rope_type by its present name."""
    if not has(rope, "rope_type"):
        return "default"
    value = rope["rope_type"]
    name = OLDER.get(str(value.value), value.value)
    return _check.choice(value.key, name, TYPES)


def unknown(rope: Mapping[str, Value], extra: frozenset[str] = frozenset()) -> list[str]:
    """Keys that nobody understands, by their place in the file."""
    return [value.key for name, value in rope.items() if name not in KNOWN | extra and value.value is not None]


def ignored(kind: str, rope: Mapping[str, Value], extra: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Notes on keys of the file that this rope_type does not read."""
    reads = READS[kind] | {"rope_type", "type", "rope_theta"} | extra
    return tuple(
        f"{value.key} = {value.value!r} is not read by rope_type {kind!r}"
        for name, value in rope.items()
        if name not in reads and value.value is not None and value.source != "class default" and name in KNOWN
    )


def rotation(
    rope: Mapping[str, Value],
    head: Head,
    pairing: Pairing,
    longest: Value | None,
    length: int | None,
    numerics: Numerics,
    allotment: Allotment | None = None,
) -> Rotates:
    """The record of a rotation, inside its head."""
    kind = type_of(rope)
    if not has(rope, "rope_theta"):
        raise ValueError(
            "rope_theta must be known; neither the file nor the class has it. State it: stated={'rope_theta': …}."
        )
    base, scaling = real(rope, "rope_theta"), scaling_of(kind, rope, longest, length)
    record: Rotates
    if allotment is None:
        record = RoPE(head.width, base, pairing, numerics, scaling)
    elif allotment.sections:
        record = XDRoPE(allotment.sections, base, numerics, scaling)
    else:
        own = allotment
        record = AxialRoPE(own.axis, own.rung, own.ladder, base, pairing, own.blocks, numerics, scaling)
    return record if head.width == head.dim else Partial(record, head.dim, head.start)
