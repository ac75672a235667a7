"""Reads the positions of a model from its config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.models.config.config_classes import UNKNOWN_CLASS, ConfigClass, config_classes
from posenc.models.config.config_groups import groups_of_config
from posenc.models.config.converted_type import as_converted_from, as_stated
from posenc.models.config.draft_layers import draft_groups
from posenc.models.config.fields import (
    LONGEST_NAME,
    Fields,
    Options,
    stated_values,
    waived_notes,
    wrong,
)
from posenc.models.config.json_file import is_manifest, load_config
from posenc.models.config.model_type import Groups, ModelType
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.model_types.type_rows import FILLED_IN, HANDED_DOWN, SAME_AS
from posenc.models.config.part_notes import (
    UNREAD_PART,
    note_of_part_left_out,
    notes_of_missing_parts,
    notes_of_unread_parts,
    notes_of_whole_model,
)
from posenc.models.config.unread_keys import notes_of_unread_keys, unread
from posenc.models.config.window_rules import (
    STATE_LAYER_TYPES,
    UnknownWindows,
    note_of_unknown_windows,
    nowhere,
    schedules,
)
from posenc.models.model_positions import DRAFT, ModelPositions
from posenc.phase import Numerics

#: On a part that the caller's own ModelType reads.
OWN_TYPE = "{where}model_type {model_type!r} is read as the caller's own ModelType says; posenc has not compared it"
#: On a file that states no text_config, as older files do.
OLDER_TEXT = (
    "{where}text_config is not in the file, and the keys next to the other configs are read as its own, as older files "
    "have them; {config} may take defaults for it"
)
#: Configs inside one whose parts keep their names where other configs have parts of the same name.
MAIN_PARTS = ("text_config", "thinker_config")
#: The groups of a part of a config, and notes on what was left out.
Positions = tuple[Groups, tuple[str, ...]]


def from_config(
    config: Mapping[str, Any] | str | Path,
    *,
    stated: Mapping[str, Any] | None = None,
    waive: Iterable[str] = (),
    length: int | None = None,
    numerics: Numerics = "exact",
    types: Sequence[ModelType] = (),
) -> ModelPositions:
    """Read the encodings of every layer from a Hugging Face config; nothing is imported, fetched or executed.

    Args:
        config: A dict, the path of a config.json, its folder, or a config of transformers (anything with `to_dict`);
            both spellings of rope_parameters, flat and nested. A manifest, which `manifest` makes, is read back.
        stated: Values that the caller states, by the names of the file's keys; they win, and are marked "caller". A
            model type that is not known needs its "pairing" here, "adjacent" or "halves", since no config states it.
            A key that nothing reads is refused.
        waive: Keys that concern positions and may go unread.
        length: Positions to serve, for rope types whose frequencies depend on it (dynamic, longrope); None for the
            file's max_position_embeddings.
        numerics: "exact", or "float32" for what released models compute.
        types: Model types of your own, which posenc does not know or reads otherwise; a note names each that is used.

    Returns:
        The groups of layers, each with its encodings and where every value came from.

    Raises:
        ValueError: A key on positions is not understood, a value breaks its rule, or the model type is not read.
        TypeError: A value has another type than its key takes, or `config` is no config.

    Example:
        >>> positions = from_config({"model_type": "llama", "rope_theta": 500000.0, "hidden_size": 64,
        ...                          "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 8192})
        >>> positions.groups[0].encodings
        (RoPE(dim=16, base=500000.0, pairing='halves', numerics='exact'),)
        >>> str(positions.groups[0].value("rope_theta"))
        'rope_theta = 500000.0 (file: rope_theta)'
    """
    file = load_config(config)
    given, waive, known = stated_values(stated), validation.texts("waive", waive), _with_own(types)
    if is_manifest(file):
        return _of_manifest(file, stated, waive, length, types)
    data, layout = as_converted_from(file)
    validation.choice("numerics", numerics, ("exact", "float32"))
    if length is not None:
        length = validation.integer("length", length, 1, 2**53)
    model_type = _model_type(data, given)
    options = Options(given, waive, length, numerics, layout, known, {"model_type"})
    groups, notes = _read_part(data, model_type, options)
    options.refuse_unread()
    unread = [note for note in notes if UNREAD_PART in note]
    if unread and not groups:
        raise ValueError(f"{model_type} must have a part that is read; got none: {unread[0]}. Compare it by hand.")
    windows_known = not any(isinstance(note, UnknownWindows) for note in notes)
    draft = tuple(group for group in groups if group.part == DRAFT)
    groups = tuple(group for group in groups if group.part != DRAFT)
    positions = ModelPositions(model_type, groups, notes, windows_known, draft)
    return positions if layout is None else as_stated(positions, file["model_type"], layout)


def _of_manifest(file: Mapping[str, Any], stated: Any, waive: Any, length: Any, types: Any) -> ModelPositions:
    """Read a manifest, which says everything itself; loaded here, since it brings every encoding."""
    from posenc.models.manifests.manifest_read import positions_of

    for name, given in (("stated", stated), ("waive", tuple(waive)), ("length", length), ("types", tuple(types))):
        if given:
            raise ValueError(
                f"{name} must be left out for a manifest, whose positions are settled; got "
                f"{validation.shown(given)}. Give the config.json that it was made from."
            )
    return positions_of(file)


def _model_type(data: Mapping[str, Any], stated: Mapping[str, Any]) -> str:
    value = stated.get("model_type", data.get("model_type"))
    if value is None:
        raise ValueError(
            "model_type must be in the config; got none. Give the config.json of a model, or "
            "stated={'model_type': 'llama'}, say."
        )
    if not isinstance(value, str):
        raise TypeError(wrong("model_type", "must be a word", value))
    return value


def _with_own(types: Sequence[ModelType]) -> Mapping[str, ModelType]:
    """Merge the known rows of model types with the caller's own, which win."""
    what = "a tuple of posenc.models.ModelType, types=(mine,)"
    listed = validation.instance("types", types, Sequence, what)
    own = [validation.instance("types", row, ModelType, what) for row in listed]
    twice = [name for name, count in Counter(name for row in own for name in row.names).items() if count > 1]
    if twice:
        raise ValueError(f"types must name each model type once; got {twice[0]!r} twice. Drop one.")
    return {**MODEL_TYPES, **{name: row for row in own for name in row.names}}


def _is_own(model_type: str, options: Options) -> bool:
    row = options.types.get(model_type)
    return row is not None and row is not MODEL_TYPES.get(model_type)


def _read_part(data: Mapping[str, Any], model_type: str, options: Options, where: str = "") -> Positions:
    """Read the groups of one config and of its nested configs, with notes."""
    same = () if model_type in options.types else note_of_other_name(model_type, where)
    model_type = _read_as(model_type, options)
    known = config_classes().get(model_type, UNKNOWN_CLASS)
    inside = [
        key for key in known.parts if isinstance(data.get(key), Mapping) and key not in (*options.waive, "attn_config")
    ]
    if model_type not in options.types and known.parts:
        return _read_parts(data, model_type, known, inside, options, where)
    row = options.types.get(model_type) or _stated_row(model_type, options, data)
    if row.unsupported:
        raise ValueError(
            f"model_type must be one whose positions are read; got {model_type!r}, which {row.unsupported}. "
            "Compare it by hand."
        )
    not_counting = known.ignored_keys({**data, **options.stated})
    ignored = {key: data[key] for key in not_counting if data.get(key) is not None}
    counting = {key: value for key, value in data.items() if key not in ignored}
    fields = Fields(counting, known, options, where, row.older_names)
    for key, value in ignored.items():
        fields.mark_idle(key, value)
    groups = groups_of_config(fields, row, model_type, options.layout if row.part == "text" or not where else None)
    draft, of_draft = draft_groups(fields, groups) if row.part == "text" else ((), ())
    groups = (*groups, *draft)
    if row.part == "module" and where:  # one type for both parts of T5Gemma, which the file keeps apart
        groups = tuple(replace(group, part=where.removesuffix(".").rpartition(".")[2]) for group in groups)
    unread_notes = notes_of_unread_keys(fields, row, model_type)
    more, notes = _read_inside(data, known, inside, options, where, frozenset(group.part for group in groups))
    missing = notes_of_missing_parts(data, known, options, where)
    of_row = _notes_of_row(row, groups, where)
    if known is UNKNOWN_CLASS:
        of_row = (*of_row, *notes_of_unread_parts(data, where))
    if _is_own(model_type, options):
        of_row = (OWN_TYPE.format(where=where, model_type=model_type), *of_row)
    if model_type not in options.types:
        of_row = (*of_row, note_of_unknown_windows(model_type, {**data, **options.stated}, where))
    own = (*same, *fields.notes, *unread_notes, *of_row, *of_draft)
    return (*groups, *more), (*own, *notes, *missing)


def _read_as(model_type: str, options: Options) -> str:
    """Resolve a model type that is an alias (`SAME_AS`), unless the table or the caller has a row for it."""
    return model_type if model_type in options.types else SAME_AS.get(model_type, model_type)


def note_of_other_name(model_type: str, where: str) -> tuple[str, ...]:
    """Note that a model type is an alias, and which type it is read as."""
    other = SAME_AS.get(model_type)
    return () if other is None else (f"{where}model_type = {model_type!r} is {other} under another name, and read so",)


def _notes_of_row(row: ModelType, groups: Groups, where: str) -> tuple[str, ...]:
    """Return the notes of a type with a `reader` that no group carries, each with its part in front."""
    before, carried = f"{where.removesuffix('.')}: " if where else "", {note for one in groups for note in one.notes}
    return tuple(type(note)(before + note) for note in row.notes if row.reader is not None and note not in carried)


def _stated_row(model_type: str, options: Options, data: Mapping[str, Any]) -> ModelType:
    """The row of a model type that is not in the table: its pairing must be stated."""
    stated = options.stated
    options.asked.add("pairing")
    if "pairing" not in stated:
        unread = [] if {"layer_types"} & {*stated, *data} else schedules(data)
        listed = f" {unread[0]:.{LONGEST_NAME}} looks like a schedule of layers: {STATE_LAYER_TYPES}." if unread else ""
        inside = [note.partition(" ")[0] for note in notes_of_unread_parts(data, "")]
        apart = f" Its {inside[0]} is a config of its own: give it to from_config by itself." if inside else ""
        raise ValueError(
            "model_type must be one that is known here, or its pairing must be stated; "
            f"got {validation.shown(model_type)}.{apart} "
            f"If it rotates queries and keys, give stated={{'pairing': 'halves'}} or 'adjacent'; if its layers differ, "
            f"give from_config types=(ModelType(...),).{listed}"
        )
    pairing = validation.choice("stated['pairing']", stated["pairing"], ("adjacent", "halves"))
    return ModelType((model_type,), pairing=pairing, partial=True, window=nowhere)  # type: ignore[arg-type]


def _read_parts(
    data: Mapping[str, Any], model_type: str, known: ConfigClass, inside: list[str], options: Options, where: str
) -> Positions:
    """Read a model made of parts, each with a config of its own: their groups, with notes."""
    notes: tuple[str, ...] = ()
    own = notes_of_whole_model(Fields(data, known, options, where), model_type)
    if "text_config" in known.parts and "text_config" not in (*inside, *options.waive):
        inside = ["text_config", *inside]
        text = {key: value for key, value in data.items() if key not in (*known.parts, "model_type")}
        data = {**{key: data[key] for key in known.parts if key in data}, "text_config": text}
        notes = (OLDER_TEXT.format(where=where, config=known.config),)
    # A key that merely repeats one of a config inside says nothing more.
    unknown = [key for key in Fields(data).unknown_keys() if all(data[part].get(key) != data[key] for part in inside)]
    waived = {key for key in unknown if {key, where + key} & options.waive}
    left = ((key, where + key, data[key]) for key in unknown if key not in waived)
    notes = (*waived_notes((where + key, data[key]) for key in unknown if key in waived), *unread(left), *notes)
    if not inside:
        raise ValueError(
            f"{where}{model_type} must have a config inside it that is read; got none of {sorted(known.parts)}."
        )
    data, handed = _handed_down(Fields(data, known, options, where), model_type, inside)
    data = _filled_in(data, model_type, inside)
    groups, more = _read_inside(data, known, inside, options, where)
    return groups, (
        *handed,
        *own,
        *more,
        *notes,
        *notes_of_missing_parts(data, known, options, where),
    )


def _handed_down(fields: Fields, model_type: str, inside: list[str]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Copy the key by which a model overrides its parts' own (`HANDED_DOWN`) into their configs, with a note."""
    if model_type not in HANDED_DOWN:
        return fields.data, ()
    data, (key, name, parts) = fields.data, HANDED_DOWN[model_type]
    found = fields.get(key)
    value = None if found is None else found.value
    overwritten = {part: {**data[part], name: value} for part in parts if part in inside}
    note = f"{name} of {' and '.join(overwritten)} is {fields.where}{key} = {value}, whatever they say themselves"
    return {**data, **overwritten}, (note,) if overwritten else ()


def _filled_in(data: Mapping[str, Any], model_type: str, inside: list[str]) -> Mapping[str, Any]:
    """Give a part the value that the class of the whole model gives it where it states none (`FILLED_IN`)."""
    part, key, value = FILLED_IN.get(model_type, ("", "", None))
    if part not in inside or data[part].get(key) is not None:
        return data
    return {**data, part: {**data[part], key: value}}


def _read_inside(
    data: Mapping[str, Any],
    known: ConfigClass,
    inside: list[str],
    options: Options,
    where: str,
    own: frozenset[str] = frozenset(),
) -> Positions:
    """Read the groups of the nested configs of a config, each by the model type that the outer class gives it.

    `own` are the parts of the groups that the config has itself.
    """
    read: dict[str, Groups] = {}
    notes: list[str] = []
    for key in inside:
        model_type = known.parts[key] or data[key].get("model_type")
        if not isinstance(model_type, str):
            raise ValueError(
                f"{where}{key}.model_type must be known; got {validation.shown(model_type)}. State it in the "
                f"config, or give waive=({key!r},)."
            )
        row = options.types.get(model_type)
        if row and row.left_out:
            notes.append(note_of_part_left_out(f"{where}{key}", model_type, row.unsupported))
        elif _is_read(model_type, options):
            read[key], more = _read_part(data[key], model_type, options, f"{where}{key}.")
            notes += more
        else:
            reason = f", which {row.unsupported}" if row else ""
            raise ValueError(
                f"{where}{key} must be of a type that is read here; got {validation.shown(model_type)}{reason}. "
                f"Give waive=({key!r},) to read the rest."
            )
    return _told_apart(read, own), tuple(notes)


def _told_apart(read: Mapping[str, Groups], own: frozenset[str]) -> Groups:
    """Join the groups of nested configs; parts that several have are named by their config's key, save the main one's.

    Layer 3 of the talker of Qwen3-Omni is not layer 3 of its thinker, nor that of the model around it.
    """
    having = Counter(part for groups in read.values() for part in {group.part for group in groups})
    having.update(own)
    told = []
    for key, groups in read.items():
        name, there = key.removesuffix("_config").replace("_", " "), {group.part for group in groups}
        names = {
            part: name if part == "text" and name not in there else f"{name} {part}"
            for part, count in having.items()
            if count > 1 and part != name  # a vision_config whose tower is the model's own
        }
        kept = key in MAIN_PARTS
        told += [group if kept else replace(group, part=names.get(group.part, group.part)) for group in groups]
    return tuple(told)


def _is_read(model_type: str, options: Options) -> bool:
    model_type = _read_as(model_type, options)
    row = options.types.get(model_type)
    has_parts = bool(config_classes().get(model_type, UNKNOWN_CLASS).parts)
    return (row is not None and not row.unsupported) or has_parts or "pairing" in options.stated
