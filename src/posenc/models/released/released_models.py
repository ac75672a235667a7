"""Released models by name, from configs that come with posenc; nothing is asked of any network."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions

#: Parts of a name: a number with what is written on to it, as in 8b and 3.1, and letters.
_PARTS = re.compile(r"\d+(?:\.\d+)?[a-z]*|[a-z]+")
#: What names of checkpoints say of tuning and format, which changes no position.
_TUNING = frozenset(("base", "cased", "chat", "hf", "instruct", "it", "meta", "pt", "think", "uncased"))
#: Near names that an error shows.
_NEAR = 3


@dataclass(frozen=True)
class ReleasedModel:
    """A released model.

    Attributes:
        name: As its authors write it.
        names: What else people type for it.
        config: Keys of its config that concern positions, and its widths.
        source: Where these stand.
        paper: What describes the model.
        context: Positions that it was trained for, where its config has another number or none.
        context_source: Where that stands.
    """

    name: str
    names: tuple[str, ...]
    config: Mapping[str, Any]
    source: str
    paper: str
    context: int | None = None
    context_source: str = ""

    @property
    def positions(self) -> ModelPositions:
        """Positions of the model, as `from_config` reads it."""
        return from_config(self.config)

    def is_called(self, parts: Sequence[str]) -> bool:
        """Whether one of its names begins with these parts."""
        return any(_parts(name)[: len(parts)] == tuple(parts) for name in (self.name, *self.names))


def released_models() -> tuple[ReleasedModel, ...]:
    """Return all models whose configs come with posenc, each once, whatever spellings of its config there are.

    Example:
        >>> released_models()[0].name
        'Llama 2 7B'
    """
    text = resources.files("posenc.models.released").joinpath("configs.json").read_text(encoding="utf-8")
    return tuple(_model(held) for held in json.loads(text)["configs"] if "repository" in held["source"])


def models_called(name: str) -> tuple[ReleasedModel, ...]:
    """Models that go by a name or by one that begins with it, the best known first; capitals and signs do not count.

    Example:
        >>> [model.name for model in models_called("meta-llama/Llama-3-8B-Instruct")]
        ['Llama 3 8B']
        >>> models_called("GPT2")[0].name
        'GPT-2'
    """
    parts = _parts(name)
    models = [model for model in released_models() if parts and model.is_called(parts)]
    return tuple(sorted(models, key=lambda model: parts not in map(_parts, (model.name, *model.names))))


def near_names(name: str) -> tuple[str, ...]:
    """Names of released models that look like this one.

    Example:
        >>> near_names("lama-3")
        ('Llama 3 8B', 'Llama 2 7B', 'Llama 3.2 3B')
    """
    spelled = {" ".join(_parts(each)): model.name for model in released_models() for each in (model.name, *model.names)}
    near = difflib.get_close_matches(" ".join(_parts(name)), list(spelled), n=2 * _NEAR)
    return tuple(dict.fromkeys(spelled[each] for each in near))[:_NEAR]


def _parts(name: str) -> tuple[str, ...]:
    """Words and numbers of a name, without the organisation before it and what was done after training."""
    parts = _PARTS.findall(name.rpartition("/")[2].lower())
    return tuple(part for part in parts if part not in _TUNING)


def _model(held: Mapping[str, Any]) -> ReleasedModel:
    context = held.get("context", {})
    return ReleasedModel(
        name=held["name"],
        names=tuple(held.get("names", ())),
        config=held["config"],
        source=_source(held["source"]),
        paper=held.get("paper", ""),
        context=context.get("tokens"),
        context_source=context.get("source", ""),
    )


def _source(held: Mapping[str, str]) -> str:
    """Place of a config in words: repository, path and entry, with the commit where it is known."""
    entry = f", {held['entry']}" if "entry" in held else ""
    commit = f" at {held['commit'][:7]}" if "commit" in held else ""
    note = f" ({held['note']})" if "note" in held else ""
    return f"{held['repository']}, {held['path']}{entry}{commit}{note}"
