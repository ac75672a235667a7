"""What the positions of a model are, read from its config."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from posenc import _check
from posenc.models.config.absolute_models import PATCHES, TABLES, tables
from posenc.models.config.biased_models import READERS, falcon_alibi
from posenc.models.config.config_classes import NONE, ModelClass, classes
from posenc.models.config.fields import CONCERNS, Fields
from posenc.models.config.json_file import loaded
from posenc.models.config.model_types import Family, families
from posenc.models.config.rotary_models import Options, groups, refusal
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.phase import Numerics

STRANGER = ModelClass(config="a class that is not known")


def from_config(
    config: Mapping[str, Any] | str | Path,
    *,
    stated: Mapping[str, Any] | None = None,
    waive: Iterable[str] = (),
    length: int | None = None,
    numerics: Numerics = "exact",
) -> ModelPositions:
    """Read a Hugging Face config: for each group of layers the records, and where every value came from.

    config: a dict, the path of a config.json, or its folder; both spellings of rope_parameters, flat and nested.
    stated: values that the caller states, by the names of the file's keys; they win, and are marked "caller". A model type
    that is not known needs its "pairing" here, "adjacent" or "halves", since no config states it.
    waive: keys that concern positions and may go unread.
    length: the length to serve, for rope types whose frequencies depend on it (dynamic, longrope); where it is None, the
    file's max_position_embeddings.   numerics: "exact", or "float32" for what released models compute.

    Nothing is imported, fetched or executed. Raises ValueError or TypeError naming the key.

    >>> found = from_config({"model_type": "llama", "rope_theta": 500000.0, "hidden_size": 64, "num_attention_heads": 4,
    ...                      "num_hidden_layers": 2, "max_position_embeddings": 8192})
    >>> found.groups[0].encodings
    (RoPE(dim=16, base=500000.0, pairing='halves', numerics='exact'),)
    >>> str(found.groups[0].value("rope_theta"))
    'rope_theta = 500000.0 (file: rope_theta)'
    """
    data, _ = loaded(config)
    given = dict(_check.instance("stated", {} if stated is None else stated, Mapping, "a dict of keys and values"))
    if isinstance(waive, str):
        raise TypeError(f"waive must be a tuple of keys; got {waive!r}. Write waive=({waive!r},).")
    _check.choice("numerics", numerics, ("exact", "float32"))
    if length is not None:
        length = _check.integer("length", length, 1, 2**53)
    options = Options(length, numerics, frozenset(waive))
    model_type = _model_type(data, given)
    found, notes = part(data, model_type, given, options)
    return ModelPositions(model_type, found, notes)


def part(
    data: Mapping[str, Any], model_type: str, stated: Mapping[str, Any], options: Options, where: str = ""
) -> tuple[tuple[LayerGroup, ...], tuple[str, ...]]:
    """The groups of one config, and of the configs inside it."""
    known = classes().get(model_type, STRANGER)
    fields = Fields(data, known.defaults, known.names, stated, where)
    found: tuple[LayerGroup, ...] | None = None
    if model_type in TABLES or model_type in PATCHES:
        found = tables(fields, model_type, options.numerics)
    elif model_type in READERS:
        found = READERS[model_type](fields, model_type, options.numerics)
    elif model_type == "falcon" and fields.truth("alibi"):
        found = falcon_alibi(fields)
    inside = [
        key for key in known.parts if isinstance(data.get(key), Mapping) and key not in (*options.waive, "attn_config")
    ]
    if found is None and model_type not in families() and known.parts:
        return _whole(data, model_type, known, inside, stated, options, where)
    if found is None:
        family = families().get(model_type) or _stated_family(model_type, known, stated)
        found = groups(fields, model_type, known, family, options)
    strangers = [key for key in fields.unread() if key not in options.waive]
    if strangers:
        raise ValueError(refusal([where + key for key in strangers]))
    more, notes = _inside(data, known, inside, stated, options, where)
    return (*found, *more), notes


def _whole(
    data: Mapping[str, Any],
    model_type: str,
    known: ModelClass,
    inside: list[str],
    stated: Mapping[str, Any],
    options: Options,
    where: str,
) -> tuple[tuple[LayerGroup, ...], tuple[str, ...]]:
    """A model made of parts, each with a config of its own."""
    if "text_config" in known.parts and "text_config" not in inside and "text_config" not in options.waive:
        # Older files have the keys of the text model beside the other configs.
        inside = ["text_config", *inside]
        text = {key: value for key, value in data.items() if key not in (*known.parts, "model_type")}
        data = {**{key: data[key] for key in known.parts if key in data}, "text_config": text}
    strangers = [key for key in _beside(data, inside) if key not in options.waive]
    if strangers:
        raise ValueError(refusal([where + key for key in strangers]))
    found, notes = _inside(data, known, inside, stated, options, where)
    if not found:
        raise ValueError(
            f"{where}{model_type} must have a config inside it that is read; got none of {sorted(known.parts)}."
        )
    return found, notes


def _beside(data: Mapping[str, Any], inside: list[str]) -> list[str]:
    """Keys on positions beside the configs inside, except those that merely repeat one of these."""
    fields = Fields(data, NONE, {}, NONE)
    return [key for key in fields.unread() if all(data[part].get(key) != data[key] for part in inside)]


def _inside(
    data: Mapping[str, Any],
    known: ModelClass,
    inside: list[str],
    stated: Mapping[str, Any],
    options: Options,
    where: str,
) -> tuple[tuple[LayerGroup, ...], tuple[str, ...]]:
    """The groups of the configs inside a config, each read as the class around it reads it."""
    found: list[LayerGroup] = []
    notes: list[str] = []
    for key in inside:
        own = data[key]
        kind = known.parts[key] or own.get("model_type")
        if not isinstance(kind, str):
            raise ValueError(
                f"{where}{key}.model_type must be known; got {_check.shown(kind)}. State it in the config, or give waive=({key!r},)."
            )
        if not _readable(kind, stated) and _silent(kind, own):
            notes.append(f"{where}{key}, of the type {kind}, has no key that concerns positions")
            continue
        if not _readable(kind, stated):
            raise ValueError(
                f"{where}{key} must be of a type that is read here; got {_check.shown(kind)}. Give waive=({key!r},) to read the rest."
            )
        more, said = part(own, kind, stated, options, f"{where}{key}.")
        found.extend(more)
        notes.extend(said)
    return tuple(found), tuple(notes)


def _silent(kind: str, own: Mapping[str, Any]) -> bool:
    """Whether neither a config nor the class that it is of has a key that concerns positions."""
    known = classes().get(kind)
    if (
        known is None or known.parts or known.theta is not None or kind.startswith("timm")
    ):  # which have models of all kinds
        return False
    return not any(CONCERNS.search(key) for key in (*own, *known.defaults))


def _readable(kind: str, stated: Mapping[str, Any]) -> bool:
    known = kind in families() or kind in TABLES or kind in PATCHES or kind in READERS
    return known or bool(classes().get(kind, STRANGER).parts) or "pairing" in stated


def _model_type(data: Mapping[str, Any], stated: Mapping[str, Any]) -> str:
    value = stated.get("model_type", data.get("model_type"))
    if value is None:
        raise ValueError(
            "model_type must be in the config; got none. Give the config.json of a model, or stated={'model_type': 'llama'}, say."
        )
    if not isinstance(value, str):
        raise TypeError(f"model_type must be a word; got {_check.shown(value)}. Look at the file.")
    return value


#: What types do that no pairing describes: a statement of one would be read, fluently and wrong.
UNPAIRED = {
    "vjepa2": "repeats its angles over channels in another order than it pairs them, which no record does",
}


def _stated_family(model_type: str, known: ModelClass, stated: Mapping[str, Any]) -> Family:
    """The habits of a model type that is not in the table: its pairing must be stated."""
    if model_type in UNPAIRED:
        raise ValueError(
            f"model_type must be one whose rotation is read; got {model_type!r}, which {UNPAIRED[model_type]}."
        )
    if "pairing" not in stated:
        raise ValueError(
            f"model_type must be one that is known here, or its pairing must be stated; got {_check.shown(model_type)}. "
            "If it rotates queries and keys, give stated={'pairing': 'halves'} or 'adjacent'."
        )
    pairing = _check.choice("stated['pairing']", stated["pairing"], ("adjacent", "halves"))
    return Family(pairing=pairing, partial=True)  # type: ignore[arg-type]
