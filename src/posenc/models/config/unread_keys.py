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
from posenc.models.config.window_rules import schedules
from posenc.models.notes import NotRead

#: The name of a key, its place in the file, and its value.
Key = tuple[str, str, Any]
#: Keys next to rope_parameters, and inside it, that classes read without a field or a default of their own.
_WITHOUT_FIELD = frozenset(
    {
        "rope_theta", "rope_scaling", "partial_rotary_factor", "alpha", "interleaved", "llama_4_scaling_beta",
        "long_mscale", "mla_use_nope", "rotary_emb_base", "rotary_pct", "short_mscale", "xdrope_section",
    }
)  # fmt: skip


@lru_cache(maxsize=1)
def keys_of_classes() -> frozenset[str]:
    """Every key that some class of transformers reads."""
    keys = {
        key for known in config_classes().values() for key in (*known.defaults, *known.names, *known.names.values())
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
    waived = {key for key in keys if {key, fields.where + key} & fields.options.waive}
    fields.mark_waived(*((fields.where + key, fields.data[key]) for key in keys if key in waived))
    idle = [key for key in schedules(fields.data) if key not in {*fields.used, *known.defaults, *keys}]
    left = [(key, fields.where + key, fields.data[key]) for key in (*keys, *idle) if key not in waived]
    return unread(left) if known is not UNKNOWN_CLASS else of_unknown_type(model_type, left[: len(left) - len(idle)])


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
