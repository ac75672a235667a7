"""Stored answers of engines to released configs, as `posenc engines` measured them, and the match for a config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from posenc.core.doors import Encoding
from posenc.models import ModelPositions, from_config

#: The standing, which quality/write_standing.py writes with the page docs/engines.md.
STORED = Path(__file__).parent / "standing.json"
#: Cells without words of their own.
SAME = "as the file"
#: Layers and widths say nothing of how an engine reads the keys of positions.
SIZES = ("hidden_size", "num_attention_heads", "head_dim", "num_hidden_layers", "max_position_embeddings")


@lru_cache(maxsize=1)
def stored_answers() -> Mapping[str, Any]:
    """Load standing.json, the stored answers of all engines to all released configs."""
    held: Mapping[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return held


def answers_for(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Stored answers of engines to a config, or to one with the same keys; None where no stored one is like it.

    Engines read keys, not mathematics: the same rotation in another spelling may be read otherwise. So configs are
    alike where model type, the keys of positions and their words are; `same` says whether their numbers are too, and
    with the widths of both files their encodings.

    Args:
        config: As config.json holds it.

    Returns:
        The name of the stored config, whether it is the same, and a row for each engine.
    """
    positions = from_config(config)
    of_type = [model for model in stored_answers()["models"] if model["model_type"] == positions.model_type]
    found = [(model, from_config(model["config"])) for model in of_type]
    own, sizes = _keys(positions), _keys(positions, sizes=True)
    alike = [(model, one) for model, one in found if _words(_keys(one)) == _words(own)]
    if not alike:
        return None
    nearest = {  # the same encodings count most, then the same widths
        model["name"]: (
            _keys(one) == own and _encodings(one) == _encodings(positions),
            len(_keys(one, sizes=True).items() & sizes.items()),
        )
        for model, one in alike
    }
    model, _ = max(alike, key=lambda each: nearest[each[0]["name"]])
    return _answer(model, same=nearest[model["name"]][0])


def answers_of(name: str) -> dict[str, Any]:
    """Answers of engines to a stored config, by its name."""
    model = next(model for model in stored_answers()["models"] if model["name"] == name)
    return _answer(model, same=True)


def _keys(positions: ModelPositions, *, sizes: bool = False) -> dict[str, Any]:
    """Keys in the file that determine the positions, with their values; with `sizes`, those of layers and widths."""
    values = (value for group in positions.groups for value in group.values)
    return {value.key: value.value for value in values if value.source == "file" and (value.name in SIZES) == sizes}


def _encodings(positions: ModelPositions) -> set[tuple[Encoding, ...]]:
    """Encodings of the groups of layers, whose widths and lengths may come from the keys of sizes."""
    return {group.encodings for group in positions.groups}


def _words(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keys with their texts and booleans, which choose how other keys are read; all other values become None."""
    return {key: value if isinstance(value, str | bool) else None for key, value in keys.items()}


def _answer(model: Mapping[str, Any], *, same: bool) -> dict[str, Any]:
    engines = stored_answers()["engines"]
    rows = [
        {
            "engine": name,
            "version": engines.get(name, {}).get("version", ""),
            "cells": [{"field": field, "value": SAME, **cell} for field, cell in row["cells"].items()],
            "effects": [[int(length), change] for length, change in row.get("effects", {}).items()],
            "why": row.get("why", ""),
        }
        for name, row in model["engines"].items()
    ]
    return {"model": model["name"], "same": same, "fields": model["fields"], "rows": rows}
