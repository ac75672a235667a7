"""A manifest read back: its encodings are made again, and every number of the file must follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from posenc import parse
from posenc.core import validation
from posenc.core.text_lines import escaped
from posenc.encodings.adds.resize_table import Resizing
from posenc.models.config.fields import immutable
from posenc.models.config.json_file import SCHEMA, is_manifest, load_config
from posenc.models.manifests.manifest_of_model import NOTE_KINDS, manifest
from posenc.models.manifests.manifest_record import USE_ROLES, VERSION, Manifest
from posenc.models.model_positions import DRAFT, Chunks, LayerGroup, ModelPositions, Role, RoleRotation, Value, Window
from posenc.models.patch_positions import PatchPositions

#: Roles that `LayerGroup.encodings` holds; the others are its `roles`.
OF_ATTENTION = ("main", "latent")
#: How far a number may be from what follows from its encoding: mathematics libraries differ in a last bit.
TOLERANCE = 1e-9
MAKE_IT_AGAIN = "Make the manifest again from its config."


def read_manifest(source: Mapping[str, Any] | str | Path) -> Manifest:
    """Read a manifest back, exactly as it was written.

    Args:
        source: The path of its file, or the object that the file holds.

    Returns:
        The manifest.

    Raises:
        ValueError: The file is no manifest of this version, or a number in it does not follow from its encoding.
        TypeError: A value has another type than its key takes.

    Example:
        >>> from posenc.models import from_config
        >>> written = manifest(from_config({"model_type": "gpt_oss"}))
        >>> read_manifest(written.to_dict()) == written
        True
    """
    return manifest(positions_of(load_config(source, "source")))


def positions_of(data: Mapping[str, Any]) -> ModelPositions:
    """Rebuild the positions that a manifest was made from, from the object of its file."""
    if not is_manifest(data):
        raise ValueError(
            f"source must have the schema {SCHEMA!r}; got {validation.shown(data.get('schema'))}. Give what "
            "`posenc manifest` wrote."
        )
    if data.get("version") != VERSION:
        raise ValueError(
            f"version must be {VERSION}, which this posenc reads; got {validation.shown(data.get('version'))}. "
            f"{MAKE_IT_AGAIN}"
        )
    groups = tuple(
        _group(entry, f"groups[{number}].") for number, entry in enumerate(_listed(data, "groups", "", dict))
    )
    model_type = validation.instance("model_type", data.get("model_type"), str, "a word")
    model, draft = (tuple(group for group in groups if (group.part == DRAFT) is drafts) for drafts in (False, True))
    positions = ModelPositions(model_type, model, _notes(data, ""), _truth(data, "windows_known"), draft)
    _refuse_other_numbers(data, manifest(positions).to_dict())
    return positions


def _group(entry: Mapping[str, Any], where: str) -> LayerGroup:
    uses = [(use, f"{where}uses[{number}].") for number, use in enumerate(_listed(entry, "uses", where, dict))]
    temperature, window = entry.get("query_temperature"), entry.get("window")
    return LayerGroup(
        part=validation.instance(f"{where}part", entry.get("part"), str, "a word"),
        attention=validation.instance(f"{where}attention", entry.get("attention"), str, "a word"),
        layers=tuple(validation.integer(f"{where}layers", one, 0) for one in _listed(entry, "layers", where, object)),
        encodings=tuple(_encoding(use, place) for use, place in uses if use.get("role") in OF_ATTENTION),
        offset=validation.integer(f"{where}offset", entry.get("offset"), 0, 2**53),
        logit_factor=validation.real(f"{where}logit_factor", entry.get("logit_factor"), 0.0, 1e30),
        query_temperature=None if temperature is None else _encoding(temperature, f"{where}query_temperature."),
        values=tuple(_values(entry, where)),
        notes=_notes(entry, where),
        bias_factor=validation.real(f"{where}bias_factor", entry.get("bias_factor"), 0.0, 1e30),
        window=None if window is None else _record(window, (Window, Chunks), f"{where}window"),
        roles=tuple(_role(use, place) for use, place in uses if use.get("role") not in OF_ATTENTION),
        resizing=_optional(entry, "resizing", Resizing, where),
        patches=_optional(entry, "patches", PatchPositions, where),
        length=_declared(entry, where),
    )


def _encoding(use: Any, where: str) -> Any:
    use = validation.instance(where.removesuffix("."), use, dict, "an object")
    text = validation.instance(f"{where}encoding", use.get("encoding"), str, "an encoding as posenc writes it")
    try:
        return parse.record(text)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None


def _role(use: Mapping[str, Any], where: str) -> RoleRotation:
    role = validation.choice(f"{where}role", use.get("role"), USE_ROLES)
    rate = validation.integer(f"{where}rate", use.get("rate"), 1, 2**53)
    return RoleRotation(cast(Role, role), _encoding(use, where), rate)


def _optional(entry: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    return None if entry.get(name) is None else _record(entry[name], (kind,), where + name)


def _record(data: Any, kinds: tuple[type, ...], name: str) -> Any:
    """Make the dataclass of `kinds` whose field names are the keys of an object."""
    data = validation.instance(name, data, dict, "an object")
    for kind in kinds:
        if {field.name for field in fields(kind)} == set(data):
            return kind(**{key: immutable(f"{name}.{key}", value) for key, value in data.items()})
    names = " or ".join(", ".join(field.name for field in fields(kind)) for kind in kinds)
    raise ValueError(f"{name} must have the fields {names}; got {escaped(', '.join(data))}. {MAKE_IT_AGAIN}")


def _values(entry: Mapping[str, Any], where: str) -> Iterator[Value]:
    for number, value in enumerate(_listed(entry, "values", where, dict)):
        yield _record(value, (Value,), f"{where}values[{number}]")


def _declared(entry: Mapping[str, Any], where: str) -> Value | None:
    """The length that a file declared."""
    for length in _listed(entry, "lengths", where, dict):
        if length.get("kind") == "declared":
            return Value("length", length.get("positions"), length.get("source"), length.get("key"))
    return None


def _notes(entry: Mapping[str, Any], where: str) -> tuple[str, ...]:
    kinds: dict[str, type[str]] = {"note": str, **{kind: note for note, kind in NOTE_KINDS.items()}}
    notes = _listed(entry, "notes", where, dict)
    for note in notes:
        validation.choice(f"{where}notes.kind", note.get("kind"), tuple(kinds))
        validation.instance(f"{where}notes.text", note.get("text"), str, "a sentence")
    return tuple(kinds[note["kind"]](note["text"]) for note in notes)


def _listed(data: Mapping[str, Any], key: str, where: str, kind: type) -> list[Any]:
    """Return data[key] as a list whose values are all of the type `kind`."""
    values = validation.instance(where + key, data.get(key), list, "a list")
    return [validation.instance(where + key, value, kind, "a list of objects") for value in values]


def _truth(data: Mapping[str, Any], key: str) -> bool:
    return validation.truth(key, data.get(key))


def _refuse_other_numbers(stated: Any, follows: Any, where: str = "") -> None:
    """Refuse a file that was changed in one place: its encodings and its numbers then say different things."""
    for place, one, other in _differing(stated, follows, where):
        raise ValueError(
            f"{escaped(place) or 'schema'} must follow from the encodings of the manifest, which give "
            f"{validation.shown(other)}; got {validation.shown(one)}. {MAKE_IT_AGAIN}"
        )


def _differing(stated: Any, follows: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Places where plain data differs, with both values."""
    if isinstance(stated, dict) and isinstance(follows, dict):
        for key in dict.fromkeys((*follows, *stated)):
            place = f"{where}.{key}" if where else str(key)
            if (key in stated) != (key in follows):
                yield place, stated.get(key, "nothing"), follows.get(key, "nothing")
            else:
                yield from _differing(stated[key], follows[key], place)
    elif isinstance(stated, list) and isinstance(follows, list) and len(stated) == len(follows):
        for number, pair in enumerate(zip(stated, follows, strict=True)):
            yield from _differing(*pair, f"{where}[{number}]")
    elif type(stated) in (int, float) and type(follows) in (int, float):
        if not math.isclose(stated, follows, rel_tol=TOLERANCE):
            yield where, stated, follows
    elif stated != follows:
        yield where, stated, follows
