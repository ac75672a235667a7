"""Stored answers of engines to released configs, as `posenc engines` measured them, and the one like a given config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from posenc.models import ModelPositions, from_config

#: Written by quality/write_engine_answers.py.
STORED = Path(__file__).parent / "engine_answers.json"
#: Layers and widths say nothing of how an engine reads the keys of positions.
SIZES = ("hidden_size", "num_attention_heads", "head_dim", "num_hidden_layers", "max_position_embeddings")


@lru_cache(maxsize=1)
def stored_answers() -> Mapping[str, Any]:
    """Content of the stored file."""
    held: Mapping[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return held


def answers_for(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Stored answers of engines to a config, or to one with the same keys; None where no stored one is like it.

    Engines read keys, not mathematics: the same rotation in another spelling may be read otherwise. So configs are
    alike where model type, the keys of positions and their words are; `same` says whether their numbers are too.

    Args:
        config: As config.json holds it.

    Returns:
        The name of the stored config, whether it is the same, and a row for each engine.
    """
    positions = from_config(config)
    found = [(model, _keys(from_config(model["config"]))) for model in stored_answers()["models"]]
    own, model_type = _keys(positions), positions.model_type
    of_type = [(model, keys) for model, keys in found if model["model_type"] == model_type]
    alike = [(model, keys) for model, keys in of_type if _words(keys) == _words(own)]
    same = [(model, keys) for model, keys in alike if keys == own]
    chosen = next(iter((*same, *alike)), None)
    return None if chosen is None else _answer(chosen[0], same=bool(same))


def answers_of(name: str) -> dict[str, Any]:
    """Answers of engines to a stored config, by its name."""
    model = next(model for model in stored_answers()["models"] if model["name"] == name)
    return _answer(model, same=True)


def _keys(positions: ModelPositions) -> dict[str, Any]:
    """The keys of the file that its positions follow from, and their values."""
    values = (value for group in positions.groups for value in group.values)
    return {value.key: value.value for value in values if value.source == "file" and value.name not in SIZES}


def _words(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys, with the values that are no numbers: those choose how the others are read."""
    return {key: value if isinstance(value, str | bool) else None for key, value in keys.items()}


def _answer(model: Mapping[str, Any], *, same: bool) -> dict[str, Any]:
    engines = stored_answers()["engines"]
    rows = [
        {
            "engine": name,
            "version": engines.get(name, {}).get("version", ""),
            "cells": [{"field": field, **cell} for field, cell in row["cells"].items()],
            "effects": [[int(length), change] for length, change in row.get("effects", {}).items()],
            "why": row.get("why", ""),
        }
        for name, row in model["engines"].items()
    ]
    return {"model": model["name"], "same": same, "fields": model["fields"], "rows": rows}
