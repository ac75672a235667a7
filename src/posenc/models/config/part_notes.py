"""Notes on parts inside a config that are not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc.models.config.compared_as_stated import notes_as_stated
from posenc.models.config.config_classes import ConfigClass
from posenc.models.config.fields import Fields, Options
from posenc.models.config.model_types.type_rows import MADE_OF_PARTS
from posenc.models.notes import NotRead, Waived

#: What the note on a part that a model is read without says.
UNREAD_PART = "is left out"


def note_of_part_left_out(place: str, model_type: str, why: str) -> NotRead:
    """Make the note on a part that is left out of what is read."""
    return NotRead(f"{place} {UNREAD_PART}: {model_type} {why}")


def notes_of_whole_model(fields: Fields, model_type: str) -> tuple[str, ...]:
    """Note what a model that is made of parts does itself, outside of them."""
    return (*MADE_OF_PARTS.get(model_type, ()), *notes_as_stated(fields, model_type, ()))


def notes_of_unread_parts(data: Mapping[str, Any], where: str) -> tuple[NotRead, ...]:
    """Note the nested configs of a config whose class is not known, since none of them is read."""
    inside = [key for key, part in data.items() if isinstance(part, Mapping) and "model_type" in part]
    return tuple(NotRead(f"{where}{key} is not read; give it to from_config by itself") for key in inside)


def notes_of_missing_parts(
    data: Mapping[str, Any], known: ConfigClass, options: Options, where: str
) -> tuple[str, ...]:
    """Note the nested configs of this class that the caller waives, or that the file lacks and the class fills in."""
    waived = [key for key in known.parts if key in options.waive and (key in data or key not in known.optional)]
    filled = [key for key in known.parts if key not in (*known.optional, *options.waive, "attn_config")]
    missing = [key for key in filled if not isinstance(data.get(key), Mapping)]
    return (
        *(Waived(f"{where}{key} is waived") for key in waived),
        *(
            NotRead(
                f"{where}{key} is not in the file, and the default that {known.config} fills in for it is not read; "
                "read the config that the class saves"
            )
            for key in missing
        ),
    )
