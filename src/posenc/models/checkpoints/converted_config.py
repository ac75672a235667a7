"""The config of a checkpoint whose pairs of channels were converted.

It says so, or cannot be loaded as the old layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc.core.rotation import PairLayout
from posenc.models.config.converted_type import converted_type, layout_of
from posenc.models.config.reader import from_config

#: Keys by which a config itself says whether pairs are adjacent.
SAYS_ADJACENT = ("rope_interleave", "rope_interleaved", "is_neox_style")


def converted_config(config: Mapping[str, Any], target: PairLayout) -> dict[str, Any]:
    """The config with another layout of pairs.

    Where a key of its type says the layout, with that key changed; else under a model type that no loader knows, so
    that nobody else takes the rows for the old ones. `from_config` reads both.
    """
    for key in SAYS_ADJACENT:
        for value in (True, False):
            changed = {**config, key: value}
            if key in config and stated_layout(changed) == target:
                return changed
    return {**config, "model_type": converted_type(config.get("model_type"), target)}


def stated_layout(config: Mapping[str, Any]) -> PairLayout | None:
    """How pairs lie in the text of a model by its config; a config that cannot be read says nothing."""
    try:
        return layout_of(from_config(config))
    except (ValueError, TypeError):
        return None
