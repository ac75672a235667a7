"""Sliding windows and chunks that limit the keys a query sees: a rule for each habit of the classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from posenc.core import validation
from posenc.core.text_lines import escaped
from posenc.models.config.fields import LONGEST_NAME, MOST_NAMED, Fields, key_and_value, wrong
from posenc.models.config.head_rules import stated_for_layer
from posenc.models.config.rotation_rules import NO_SELF_ATTENTION
from posenc.models.model_positions import Chunks, NearKeys, Window
from posenc.models.notes import NotRead

#: Names of windows, chunks and schedules of layers in the files of known types, and those like them.
WINDOW_NAMES = re.compile(
    r"window|sliding|^swa_|_swa$|(attention|attn)_(chunk|type|pattern|layer|block|span|context)|local_(attention|attn)"
    r"|(global|full|linear|sparse)_(attention|attn)|layers?_(block_)?types?$|block_types?$|hybrid|layer_group|dual_chunk"
    r"|_pattern$|(layer|attention)_(interval|period|offset)|^look_(ahead|backward)|^block_size$|cross_attention_layers"
)
#: Schedules of other things than attention.
OTHER_LAYERS = re.compile(r"^(mlp|moe|mtp|expert|activation_sparsity)_")
#: Types of layers that see nearby keys alone.
NEARBY = re.compile(r"sliding|chunk|local|window")
#: Letters and signs that stand for layers.
LETTERS = re.compile(r"[A-Z*|\-]+")
#: A list of layer types that says no more than that all layers see all keys.
ALL_FULL = "full_attention"


#: How to say which layers of an unknown type rotate.
STATE_LAYER_TYPES = (
    "state layer_types, a word for each layer: 'linear_attention' where a layer does not rotate, 'full_attention' "
    "where it does"
)


class UnknownWindows(NotRead):
    """Note on an unknown model type: posenc does not know which keys its layers see."""

    __slots__ = ()


def note_of_unknown_windows(model_type: str, file: Mapping[str, Any], where: str) -> UnknownWindows:
    """Make the `UnknownWindows` note of a file, with its keys that may state windows or layer schedules.

    Example:
        >>> note_of_unknown_windows("mine", {"sliding_window": 4096, "use_cache": True}, "")
        'what layers of mine see is not known here: sliding_window = 4096 is not read; compare windows by hand'
    """
    named = [
        key_and_value(where + key, value)
        for key, value in file.items()
        if _may_say(key, value) and not (key == "layer_types" and not NEARBY.search(str(value)))
    ]
    more = [f"{len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
    verb = "is" if len(named) == 1 else "are"
    keys = f": {', '.join((*named[:MOST_NAMED], *more))} {verb} not read" if named else ""
    subject = f"what layers of {escaped(model_type[:LONGEST_NAME])} see"
    if not schedules(file) or "layer_types" in file:
        return UnknownWindows(f"{subject} is not known here{keys}; compare windows by hand")
    return UnknownWindows(
        f"{subject}, and which of them rotate, is not known here{keys}, and all layers are taken to rotate; "
        f"{STATE_LAYER_TYPES}"
    )


def schedules(file: Mapping[str, Any]) -> list[str]:
    """Return the keys of a file whose lists, or pattern words such as "MEM*", differ from layer to layer.

    Example:
        >>> schedules({"attn_type_list": [0, 0, 1], "sliding_window": 4096, "layer_types": ["full_attention"] * 3})
        ['attn_type_list']
        >>> schedules({"hybrid_pattern": "MEM*", "attn_implementation": "SDPA", "num_hidden_layers": 8})
        ['hybrid_pattern']
    """
    layers = file.get("num_hidden_layers")
    return [key for key, value in file.items() if _may_say(key, value) and _differs_by_layer(key, value, layers)]


def _differs_by_layer(key: str, value: Any, layers: Any) -> bool:
    """Whether a list has unequal items, or a word of layer letters (one a layer, or of a key with "pattern") does."""
    if isinstance(value, str):
        return LETTERS.fullmatch(value) is not None and ("pattern" in key or len(value) == layers) and len({*value}) > 1
    return isinstance(value, list | tuple) and any(item != value[0] for item in value)


def _may_say(key: Any, value: Any) -> bool:
    if not isinstance(key, str) or not WINDOW_NAMES.search(key) or OTHER_LAYERS.search(key):
        return False
    return bool(value) and not (isinstance(value, list | tuple) and all(item == ALL_FULL for item in value))


#: The keys that a layer sees, from the types of all and its number; None where it sees all that a causal mask leaves.
WindowRule = Callable[[Fields, tuple[str, ...], int], NearKeys | None]
#: Keys of configs that windows follow from.
WINDOW_KEYS = (
    "sliding_window",
    "sliding_window_size",
    "attention_chunk_size",
    "attention_window_size",
    "local_attention",
    "attention_windows",
    "block_size",
    "look_ahead_layers",
    "look_backward_layers",
    "is_causal",
)


def _size(fields: Fields, key: str = "sliding_window") -> int | None:
    """A size that a config states; None where it is null."""
    return None if fields.get(key) is None else fields.integer(key)


def _before(fields: Fields, size: int | None) -> Window | None:
    """A window of `size` keys, the query's own among them; `size` on both sides where the file's is_causal is false."""
    causal = fields.get("is_causal", listed=False)
    if causal is None or causal.value is not False:
        return None if size is None else Window(size - 1)
    fields.get("is_causal")
    return _around(size)


def _around(reach: int | None) -> Window | None:
    """Keys up to so many positions away, on both sides."""
    return None if reach is None else Window(reach, reach)


def _slides(types: tuple[str, ...], layer: int) -> bool:
    return "sliding" in types[layer]


def by_layer_type(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Most models: sliding layers see sliding_window keys, the query's own among them; chunked ones their chunk."""
    if types[layer] == "chunked_attention":
        size = _size(fields, "attention_chunk_size")
        return None if size is None else Chunks(size)
    return _before(fields, _size(fields)) if _slides(types, layer) else None


def in_every_layer(key: str) -> WindowRule:
    """Mistral: every layer with self-attention has the window of this key, unless it is null."""
    return lambda fields, types, layer: (
        None if types[layer] in NO_SELF_ATTENTION else _before(fields, _size(fields, key))
    )


def where_used(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Qwen 3 with experts: every layer has the window, if use_sliding_window says so."""
    return _before(fields, _size(fields)) if fields.flag("use_sliding_window") else None


def nowhere(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Return no window: Unlimited OCR's limits generated tokens alone; DeepSeek-OCR 2's encoder has none.

    Also of a type that is not known here, whose windows nobody has read; a note says so.
    """
    return None


def both_sides(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """EmbeddingGemma 2: sliding layers see keys up to sliding_window positions away, on both sides."""
    return _around(_size(fields)) if _slides(types, layer) else None


def both_sides_of_encoder(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """T5Gemma: the module that stands under "decoder", or says is_decoder, is causal; the encoder sees both sides."""
    stated = fields.get("is_decoder", listed=False)
    causal = fields.where.endswith("decoder.") or (stated is not None and stated.value is True)
    return by_layer_type(fields, types, layer) if causal else both_sides(fields, types, layer)


def both_sides_of_listed(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """UltraBERT: the first window that attention_windows of older files lists, or sliding_window, on both sides."""
    listed = fields.get("attention_windows")
    windows = listed.value if listed is not None and isinstance(listed.value, tuple) else ()
    first = next((window for window in windows if window), None)
    if first is None or not _slides(types, layer):
        return both_sides(fields, types, layer)
    return _around(validation.integer("attention_windows", first, 1))


def both_sides_or_half(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Gemma 3: half of sliding_window on both sides where attention is bidirectional, as in EmbeddingGemma."""
    stated = fields.get("use_bidirectional_attention", listed=False)
    if stated is None or stated.value not in (True, "all") or not _slides(types, layer):
        return by_layer_type(fields, types, layer)
    size = _size(fields)
    return _around(None if size is None else size // 2)


def both_sides_where_stated(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Step 3.7: as many keys behind the query as before it, where use_bidirectional_attention says so."""
    window = by_layer_type(fields, types, layer)
    stated = fields.get("use_bidirectional_attention", listed=False)
    if stated is None or not stated.value or not isinstance(window, Window) or window.after:
        return window
    return Window(window.before, window.before)


def half_and_one_where_all(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Gemma 4: on both sides a key more than half of sliding_window, where use_bidirectional_attention is "all".

    Its classes add the key for kernels that exclude the last one; the masks of transformers 5.23.0 include it.
    """
    stated = fields.get("use_bidirectional_attention", listed=False)
    if stated is None or stated.value != "all" or not _slides(types, layer):
        return by_layer_type(fields, types, layer)
    size = _size(fields)
    return _around(None if size is None else size // 2 + 1)


def half_of_local_attention(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """ModernBERT: sliding_window positions on both sides where the file states it, else half of local_attention."""
    if not _slides(types, layer):
        return None
    half = _size(fields) if fields.states("sliding_window") else None
    size = _size(fields, "local_attention")
    return _around(half if half is not None or size is None else size // 2)


def size_and_query(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """MiMo-V2-Flash: sliding_window_size of its released file counts the keys before the query alone."""
    if fields.get("sliding_window_size") is None or not _slides(types, layer):
        return by_layer_type(fields, types, layer)
    return _before(fields, fields.integer("sliding_window_size") + 1)


def window_or_size(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Dots 3 Note: sliding_window, or sliding_window_size of its released file, or 512."""
    if not _slides(types, layer):
        return None
    return _before(fields, _size(fields) or _size(fields, "sliding_window_size") or 512)


def half_before(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """ModernBERT's decoder: as many keys as half of local_attention says, unless the file states sliding_window."""
    if fields.states("sliding_window") or not _slides(types, layer):
        return by_layer_type(fields, types, layer)
    size = _size(fields, "local_attention")
    return _before(fields, None if size is None else size // 2)


def halves_of_window(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """T5Gemma 2's encoder: sliding_window keys in all, the query's own among them, split between both sides."""
    size = _size(fields)
    return None if size is None or not _slides(types, layer) else Window((size + 1) // 2 - 1, size // 2)


def short_and_long(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """NeoMME: every other sliding layer has a window of 1024 in place of sliding_window, on both sides."""
    if not _slides(types, layer):
        return None
    of_this_layer = stated_for_layer(fields, layer, "sliding_window")
    if of_this_layer is not None or fields.states("per_layer_config"):
        return _around(of_this_layer or _size(fields))
    before = sum(_slides(types, other) for other in range(layer))
    return _around(1024 if before % 2 else _size(fields))


def pair_for_each_layer(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Moonshine's streaming encoder: a window for each layer, with sides of different sizes.

    sliding_windows lists (before, behind) for each layer, each one more than the keys seen there; 0 behind is none.
    """
    pairs = fields.require("sliding_windows")
    listed = pairs.value if isinstance(pairs.value, tuple) else ()
    pair = listed[layer] if layer < len(listed) else None
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(wrong(pairs.key, f"must list two sizes for each of {len(types)} layers", pairs.value))
    before, behind = validation.integer(pairs.key, pair[0], 1, 2**53), validation.integer(pairs.key, pair[1], 0, 2**53)
    return Window(before - 1, max(behind - 1, 0))


def own_block(fields: Fields, types: tuple[str, ...], layer: int) -> NearKeys | None:
    """Qwen 2.5 Omni's audio decoder: blocks of block_size frames, but none in layers that look ahead or backward."""
    looking = (fields.get("look_ahead_layers"), fields.get("look_backward_layers"))
    if any(listed and isinstance(listed.value, tuple) and layer in listed.value for listed in looking):
        return None
    size = _size(fields, "block_size")
    return None if size is None else Chunks(size)
