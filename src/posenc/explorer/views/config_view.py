"""A model's config, explained layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posenc.core import validation
from posenc.explorer.engine_answers import answers_for
from posenc.explorer.views.view import View, script, written
from posenc.inspect.plain import as_plain
from posenc.models import fingerprint, from_config
from posenc.models.layer_sentences import in_words
from posenc.models.model_positions import LayerGroup


@dataclass(frozen=True)
class ConfigView(View):
    """A config, as config.json holds it."""

    config: Mapping[str, Any]

    def facts(self) -> dict[str, Any]:
        config = checked_config("config", self.config)
        positions = from_config(config)
        groups = (*positions.groups, *positions.draft)
        notes = [*positions.notes, *(note for group in groups for note in group.notes)]
        return {
            "model_type": positions.model_type,
            "fingerprint": fingerprint(positions),
            "groups": [_group(group) for group in groups],
            "notes": list(dict.fromkeys(notes)),
            "engines": answers_for(config),
            "code": script('print(models.from_config("config.json"))'),
        }


def checked_config(name: str, config: Any) -> Mapping[str, Any]:
    """Config as a plain dict; never a path, which a page may not make this machine read."""
    if not isinstance(config, Mapping):
        raise TypeError(
            f"{name} must be the object that a config.json holds; got {validation.shown(config)}. Drop one."
        )
    return config


def _group(group: LayerGroup) -> dict[str, Any]:
    return {
        "part": group.part,
        "attention": group.attention,
        "layers": list(group.layers),
        "sentences": in_words(group),
        "encodings": [written(encoding) for encoding in group.encodings],
        "values": [str(value) for value in as_plain(tuple(map(str, group.values)))],
    }
