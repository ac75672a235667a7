"""Model types of converted configs, such as "llama-adjacent-pairs", where no key can state the layout of pairs."""

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
    """Return the layout of pairs in a model's text, or in all parts without one; None where it differs or is absent."""
    parts = ("text",) if "text" in positions.parts else positions.parts
    layouts = {group.pairing for group in positions.groups if group.part in parts} - {None}
    return layouts.pop() if len(layouts) == 1 else None


def converted_type(model_type: Any, layout: PairLayout) -> str:
    """Return the model type for a converted config, for example "llama-halves-pairs"."""
    return f"{model_type}-{layout}-pairs"


def as_converted_from(config: Mapping[str, Any]) -> tuple[dict[str, Any], PairLayout | None]:
    """Return a config under its original model type, and the layout that its rows were converted to.

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
    """Give the positions read from a converted config the model type of its file, and a note on the conversion."""
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
