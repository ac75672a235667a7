"""Flags by which queries see later keys: what transformers 5.23.0 does with each, by model type."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from posenc.models.config.config_classes import UNKNOWN_CLASS, config_classes
from posenc.models.config.fields import Fields, key_and_value, not_read_by_class
from posenc.models.config.unread_keys import Key, of_unknown_type
from posenc.models.model_positions import LayerGroup, ModelPositions, Window
from posenc.models.notes import AsStated

FLAG = "use_bidirectional_attention"
#: Types whose masks heed the flag, with its values that let queries see later keys.
HEEDED: Mapping[str, tuple[object, ...]] = MappingProxyType(
    {"gemma3_text": (True, "all"), "step3p5": (True,)}
    | dict.fromkeys(("gemma4_text", "gemma4_unified_text", "diffusion_gemma_text"), ("all",))
)
#: Types whose masks are causal whatever the flag says, while attention without a mask heeds it.
UNSETTLED = ("gemma", "gemma2")
#: Its value that lets the tokens of one image see each other, the types that heed it, and those whose default it is.
OF_IMAGES = "vision"
WITH_IMAGES = ("gemma4_text", "gemma4_unified_text", "diffusion_gemma_text")
IMAGES_BY_DEFAULT = ("gemma4_unified_text",)
#: What every note on later keys says; a manifest keeps these words.
LATER = "queries see later keys"


def sees_later_keys(config: Mapping[str, Any]) -> bool | None:
    """Return whether the flags of a config let queries of its text see later keys; None where attention differs in it.

    Example:
        >>> sees_later_keys({"model_type": "llama", "is_causal": False}), sees_later_keys({"model_type": "llama"})
        (True, False)
        >>> [sees_later_keys({"model_type": name, FLAG: True}) for name in ("gemma3_text", "gemma", "llama")]
        [True, None, False]
    """
    text, outer = config.get("text_config") or config, str(config.get("model_type"))
    of_part = config_classes().get(outer, UNKNOWN_CLASS).parts.get("text_config") if text is not config else outer
    return _sees(text, str(text.get("model_type") or of_part))


def _sees(text: Mapping[str, Any], model_type: str) -> bool | None:
    if text.get("is_causal") is False:
        return True
    flag = text.get(FLAG)
    if model_type in UNSETTLED and flag:
        return None
    return flag in HEEDED.get(model_type, ())


def hides_later_keys(model: ModelPositions) -> bool:
    """Return whether nothing in a text model's config lets queries see later keys."""
    return not _shown_by_window(model.groups) and not any(LATER in note for note in model.idle)


def notes_of_later_keys(fields: Fields, model_type: str, groups: tuple[LayerGroup, ...]) -> tuple[str, ...]:
    """Note the flags by which queries of a text or a decoder see later keys, where no window of its layers shows it."""
    if all(group.part not in ("text", "decoder") for group in groups):
        return ()
    found = {key: fields.get(key, listed=False) for key in ("is_causal", FLAG)}
    stated = {key: value.value for key, value in found.items() if value is not None}
    if model_type in IMAGES_BY_DEFAULT and FLAG not in fields.data:
        stated.setdefault(FLAG, OF_IMAGES)
    counting = {key: value for key, value in stated.items() if (value is False if key == "is_causal" else value)}
    waived = {key for key in counting if {key, fields.where + key} & fields.options.waive}
    fields.mark_waived(*((fields.where + key, counting[key]) for key in waived))
    places: list[Key] = [(key, fields.where + key, value) for key, value in counting.items() if key not in waived]
    if fields.config_class is UNKNOWN_CLASS:
        return of_unknown_type(model_type, places)
    return tuple(note for key in places if (note := _note(key, model_type, groups)))


def _note(stated: Key, model_type: str, groups: tuple[LayerGroup, ...]) -> str | None:
    """Note on one flag; None where a window shows what it does."""
    key, place, value = stated
    words = key_and_value(place, value)
    sees = _sees({key: value}, model_type)
    if sees is None:
        return AsStated(f"{words}: {LATER} where attention takes no mask, as sdpa without padding, and not elsewhere")
    if sees:
        return None if _shown_by_window(groups) else AsStated(f"{words}: {LATER}")
    if value == OF_IMAGES and model_type in WITH_IMAGES:
        return AsStated(f"{words}: tokens of one image see each other")
    return not_read_by_class(place, value)


def _shown_by_window(groups: tuple[LayerGroup, ...]) -> bool:
    windows = [group.window for group in groups if group.part == "text"]
    return any(isinstance(window, Window) and window.after > 0 for window in windows)
