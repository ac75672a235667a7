"""Keys by which a model type that is not known here may say what its layers see, and which of them attend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from posenc.core import validation
from posenc.models.config.fields import LONGEST_NAME, MOST_NAMED
from posenc.models.model_positions import NotRead

#: Names of windows, chunks and schedules of layers in the files of known types, and those like them.
WINDOW_NAMES = re.compile(
    r"window|sliding|^swa_|_swa$|(attention|attn)_(chunk|type|pattern|layer|block|span|context)|local_(attention|attn)"
    r"|(global|full|linear|sparse)_(attention|attn)|layers?_(block_)?types?$|block_types?$|hybrid|layer_group|dual_chunk"
    r"|_pattern$|(layer|attention)_(interval|period|offset)|^look_(ahead|backward)|^block_size$|cross_attention_layers"
)
#: Schedules of other things than attention.
OTHER_LAYERS = re.compile(r"^(mlp|moe|expert)_")
#: A list of layer types that says no more than that all layers see all keys.
ALL_FULL = "full_attention"


class UnknownWindows(NotRead):
    """The note on a model type that is not known here: nobody has read what its layers see."""

    __slots__ = ()


def note_of_unknown_windows(model_type: str, file: Mapping[str, Any], where: str) -> UnknownWindows:
    """The note, with the keys of the file that may say what layers see.

    Example:
        >>> note_of_unknown_windows("mine", {"sliding_window": 4096, "use_cache": True}, "")
        'what layers of mine see is not known here: sliding_window = 4096 (int) is not read; compare windows by hand'
    """
    named = [
        f"{where}{key:.{LONGEST_NAME}} = {validation.shown(value)}"
        for key, value in file.items()
        if _may_say(key, value)
    ]
    more = [f"{len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
    verb = "is" if len(named) == 1 else "are"
    keys = f": {', '.join((*named[:MOST_NAMED], *more))} {verb} not read" if named else ""
    return UnknownWindows(
        f"what layers of {model_type:.{LONGEST_NAME}} see is not known here{keys}; compare windows by hand"
    )


def _may_say(key: Any, value: Any) -> bool:
    if not isinstance(key, str) or not WINDOW_NAMES.search(key) or OTHER_LAYERS.search(key):
        return False
    return bool(value) and not (isinstance(value, list | tuple) and all(item == ALL_FULL for item in value))
