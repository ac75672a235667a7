"""The model type that posenc gives a config whose rows it converted, where no key of the type says how pairs lie."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.rotation import PairLayout
from posenc.models.model_positions import ModelPositions

#: What stands behind the model type where no key can say it: no loader knows such a type.
_CONVERTED = re.compile(r"(?P<type>.+)-(?P<layout>adjacent|halves)-pairs")


def layout_of(positions: ModelPositions) -> PairLayout | None:
    """Return the layout of pairs in the text of a model, or in its only part; None where it differs."""
    parts = ("text",) if "text" in positions.parts else positions.parts
    layouts = {group.pairing for group in positions.groups if group.part in parts} - {None}
    return layouts.pop() if len(layouts) == 1 else None


def converted_type(model_type: Any, layout: PairLayout) -> str:
    """The model type of a config whose rows have this layout of pairs."""
    return f"{model_type}-{layout}-pairs"


def as_converted_from(config: Mapping[str, Any]) -> tuple[dict[str, Any], PairLayout | None]:
    """The config under its own model type, and the layout that its rows were converted to.

    None where it says nothing.

    Example:
        >>> as_converted_from({"model_type": "llama-adjacent-pairs"})
        ({'model_type': 'llama'}, 'adjacent')
    """
    match = _CONVERTED.fullmatch(str(config.get("model_type")))
    if match is None:
        return dict(config), None
    layout: PairLayout = "adjacent" if match["layout"] == "adjacent" else "halves"
    return {**config, "model_type": match["type"]}, layout


def as_stated(positions: ModelPositions, model_type: str, layout: PairLayout) -> ModelPositions:
    """Put what was read of a converted config under the type that the file names."""
    if layout_of(positions) != layout:
        raise ValueError(
            f"model_type must be that of a model whose pairs can lie {layout}; got {model_type!r:.100}. Give the "
            "config of the checkpoint before it was converted."
        )
    note = (
        f"{model_type} is a {positions.model_type} whose rows posenc converted to pairs that lie {layout}; "
        "no other loader knows the type"
    )
    return replace(positions, model_type=model_type, notes=(note, *positions.notes))
