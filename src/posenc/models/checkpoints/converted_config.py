"""The config of a checkpoint whose pairs of channels were converted: it says so,
or cannot be loaded as the old layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions
from posenc.models.pair_rotation import PairLayout

#: Keys by which a config itself says whether pairs are adjacent.
SAYS_ADJACENT = ("rope_interleave", "rope_interleaved", "is_neox_style")
#: What stands behind the model type where no key can say it: no loader knows such a type.
_CONVERTED = re.compile(r"(?P<type>.+)-(?P<layout>adjacent|halves)-pairs")


def layout_of(positions: ModelPositions) -> PairLayout | None:
    """How pairs lie in the text of a model, or in its only part; None where that differs or nothing rotates."""
    parts = ("text",) if "text" in positions.parts else positions.parts
    layouts = {group.pairing for group in positions.groups if group.part in parts} - {None}
    return layouts.pop() if len(layouts) == 1 else None


def converted_config(config: Mapping[str, Any], target: PairLayout) -> dict[str, Any]:
    """The config with another layout of pairs.

    Where a key of its type says the layout, with that key changed; else under a model type that no loader knows, so
    that nobody takes the rows for the old ones. `posenc doctor` reads both.
    """
    for key in SAYS_ADJACENT:
        for value in (True, False):
            changed = {**config, key: value}
            if key in config and _reads_as(changed, target):
                return changed
    return {**config, "model_type": f"{config.get('model_type')}-{target}-pairs"}


def as_converted_from(config: Mapping[str, Any]) -> tuple[dict[str, Any], PairLayout | None]:
    """The config under its own model type, and the layout that its rows were converted to; None where it says nothing.

    >>> as_converted_from({"model_type": "llama-adjacent-pairs"})
    ({'model_type': 'llama'}, 'adjacent')
    """
    found = _CONVERTED.fullmatch(str(config.get("model_type")))
    if found is None:
        return dict(config), None
    layout: PairLayout = "adjacent" if found["layout"] == "adjacent" else "halves"
    return {**config, "model_type": found["type"]}, layout


def _reads_as(config: Mapping[str, Any], layout: PairLayout) -> bool:
    try:
        return layout_of(from_config(config)) == layout
    except (ValueError, TypeError):
        return False
