"""Keys on positions that a class does not read: a note on each, or an error where posenc cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from posenc.core.text_lines import escaped
from posenc.models.config.config_classes import UNKNOWN_CLASS, config_classes
from posenc.models.config.fields import (
    LONGEST_NAME,
    OWN_READER,
    Fields,
    key_and_value,
    not_read_by_class,
    refuse_unknown_keys,
)
from posenc.models.config.model_type import ModelType, unsupported_values
from posenc.models.config.rope_parameters import KNOWN_KEYS
from posenc.models.config.window_rules import WINDOW_NAMES, schedules
from posenc.models.notes import AsStated, NotRead

#: The name of a key, its place in the file, and its value.
Key = tuple[str, str, Any]
#: Keys next to rope_parameters, and inside it, that classes read without a field or a default of their own.
_WITHOUT_FIELD = frozenset(
    {
        "rope_theta", "rope_scaling", "partial_rotary_factor", "alpha", "interleaved", "llama_4_scaling_beta",
        "long_mscale", "mla_use_nope", "rotary_emb_base", "rotary_pct", "short_mscale", "xdrope_section",
    }
)  # fmt: skip
#: Keys by which transformers 5.23.0 chooses the layers of a cache where a config has no layer_types, the first first.
CACHE_KEYS = ("sliding_window", "attention_chunk_size")
WINDOW_OF_CACHES = (
    "its class has no such key, and shows a query all keys in one pass; generation in transformers 5.23.0 makes a "
    "cache of this window all the same"
)


@lru_cache(maxsize=1)
def keys_of_classes() -> frozenset[str]:
    """Every key that some class of transformers reads."""
    keys = {
        key
        for known in config_classes().values()
        for key in (*known.defaults, *known.also_reads, *known.names, *known.names.values())
    }
    return frozenset(keys) | KNOWN_KEYS | _WITHOUT_FIELD


def notes_of_unread_keys(fields: Fields, row: ModelType, model_type: str) -> tuple[str, ...]:
    """Note the keys on positions that the class of a file does not read.

    ValueError where the class may read one, or where the value of one says that the model is another.
    """
    keys, known = fields.unknown_keys(), fields.config_class
    problems = unsupported_values(fields, row)
    may_count = [key for key in keys if key in problems or key in known.defaults or key in known.names]
    refuse_unknown_keys(may_count, fields.options.waive, fields.where, problems, remedy=OWN_READER)
    attention = fields.idle_attention_keys()
    schedule = [key for key in schedules(fields.data) if key not in {*fields.used, *known.defaults}]
    if known is UNKNOWN_CLASS:  # `note_of_unknown_windows` names the others
        attention, schedule = [key for key in attention if not WINDOW_NAMES.search(key)], []
    stated = [(key, fields.where + key, fields.data[key]) for key in dict.fromkeys((*keys, *attention, *schedule))]
    waived = {key for key, place, _ in stated if {key, place} & fields.options.waive}
    left = [one for one in stated if one[0] not in waived]
    fields.mark_waived(*((place, value) for key, place, value in stated if key in waived))
    if known is UNKNOWN_CLASS:
        return of_unknown_type(model_type, left)
    kept = _kept_by_caches(fields, row)
    return (*unread(one for one in left if one[0] != kept), *(_of_caches(*one) for one in left if one[0] == kept))


def _kept_by_caches(fields: Fields, row: ModelType) -> str | None:
    """Return the key of a window that caches of transformers heed, though the class of the file knows none."""
    known = fields.config_class
    if row.part != "text" or fields.states("layer_types") or "layer_types" in {*known.defaults, *known.also_reads}:
        return None
    return next((key for key in CACHE_KEYS if key in fields.idle_attention_keys()), None)


def _of_caches(key: str, place: str, value: Any) -> AsStated:
    return AsStated(f"{key_and_value(place, value)}: {WINDOW_OF_CACHES}")


def unread(keys: Iterable[Key]) -> tuple[str, ...]:
    """A note for each key that a class does not read.

    Example:
        >>> unread([("rotary_dim", "rotary_dim", 64), ("rope_style", "rope_style", "fancy")])
        ('rotary_dim = 64 is not read by its class', "rope_style = 'fancy' is read by no class of transformers")
    """
    return tuple(
        not_read_by_class(place, value)
        if key in keys_of_classes()
        else NotRead(f"{key_and_value(place, value)} is read by no class of transformers")
        for key, place, value in keys
    )


def of_unknown_type(model_type: str, keys: Iterable[Key]) -> tuple[NotRead, ...]:
    """A note for each key on positions of a type that is not known here.

    Example:
        >>> of_unknown_type("mine", [("rope_style", "rope_style", "fancy")])
        ("rope_style = 'fancy' is not read: what mine does with it is not known here",)
    """
    name = escaped(model_type[:LONGEST_NAME])
    return tuple(
        NotRead(f"{key_and_value(place, value)} is not read: what {name} does with it is not known here")
        for _, place, value in keys
    )
