"""Count and types of layers where a file does not list them: a rule for each habit of the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from posenc.core import validation
from posenc.models.config.fields import Fields, wrong

#: The most layers that are accepted; the deepest released models have a few hundred.
MOST_LAYERS = 1 << 13
LayerCount = Callable[[Fields], int]
LayerTypeRule = Callable[[Fields, int], tuple[str, ...]]
#: What a class makes of the types that a file lists.
SettledTypes = Callable[[Fields, tuple[str, ...]], tuple[str, ...]]


def count_of(key: str) -> LayerCount:
    """Make a rule that reads the number of layers from a config key."""
    return lambda fields: fields.integer(key, 1, MOST_LAYERS)


num_hidden_layers = count_of("num_hidden_layers")


def listed_or_counted(fields: Fields) -> int:
    """Nemotron-H: the length of layer_types or hybrid_override_pattern, else num_hidden_layers, else 4."""
    for key in ("layer_types", "hybrid_override_pattern"):
        listed = fields.get(key, listed=False)
        if listed is not None and isinstance(listed.value, str | tuple):
            return validation.integer(key, len(listed.value), 1, MOST_LAYERS)
    return num_hidden_layers(fields) if fields.states("num_hidden_layers") else len(BY_LETTER)


def two_in_each_layer(fields: Fields) -> int:
    """LongCat Flash: num_hidden_layers, else twice num_layers, each of which has two attentions."""
    return num_hidden_layers(fields) if fields.states("num_hidden_layers") else 2 * count_of("num_layers")(fields)


def cycles_of_stacks(fields: Fields) -> int:
    """HRM: num_hidden_layers, times H_cycles · (L_cycles + 1) unless num_layers_per_stack is stated."""
    count = num_hidden_layers(fields)
    if not fields.states("num_layers_per_stack"):
        count *= fields.integer_or("H_cycles", 2, 1, 64) * (fields.integer_or("L_cycles", 3, 1, 64) + 1)
    return validation.integer("num_hidden_layers", count, 1, MOST_LAYERS)


@dataclass(frozen=True)
class EveryNth:
    """Every n-th layer is of one type, the others of another.

    Attributes:
        n: The period; `key` may state another.
        key: Of the period.
        nth: The type of every n-th layer.
        other: The type of the others.
        at: The place in each period of the n-th, from 0; the last if it is -1.
        first: Layers at the start that are of the type `nth` as well.
        last: Whether the last layer is.
        from_end: Whether periods are counted from the last layer.
    """

    n: int
    key: str = ""
    nth: str = "full_attention"
    other: str = "sliding_attention"
    at: int = -1
    first: int = 0
    last: bool = False
    from_end: bool = False

    def __call__(self, fields: Fields, count: int) -> tuple[str, ...]:
        n = fields.integer(self.key) if self.key and fields.get(self.key) else self.n
        shift = count if self.from_end else 0
        return tuple(
            self.nth
            if (i - shift - self.at) % n == 0 or i < self.first or (self.last and i == count - 1)
            else self.other
            for i in range(count)
        )


def fourth_or_last(fields: Fields, count: int) -> tuple[str, ...]:
    """OLMo hybrid: every fourth layer is full, the last one where there are fewer than four; the others are linear."""
    return EveryNth(4, other="linear_attention", last=count < 4)(fields, count)


def uniform(layer_type: str) -> LayerTypeRule:
    """Make a rule that gives all layers one type."""
    return lambda fields, count: (layer_type,) * count


def where_windowed(rule: LayerTypeRule) -> LayerTypeRule:
    """Make a rule that applies `rule` where sliding_window has a value; else all layers have full attention."""

    def types(fields: Fields, count: int) -> tuple[str, ...]:
        windowed = fields.get("sliding_window", listed=False) is not None
        return (rule if windowed else uniform("full_attention"))(fields, count)

    return types


def by_attention_windows(fields: Fields, count: int) -> tuple[str, ...]:
    """UltraBERT: older files list a window for every layer, 0 for a full one; else every third layer is full."""
    listed = fields.get("attention_windows")
    if listed is None:
        return EveryNth(3)(fields, count)
    if not isinstance(listed.value, tuple) or len(listed.value) != count:
        raise ValueError(wrong(listed.key, f"must hold a window for each of {count} layers", listed.value))
    return tuple("sliding_attention" if window else "full_attention" for window in listed.value)


def by_attn_layer_period(fields: Fields, count: int) -> tuple[str, ...]:
    """Jamba: of every attn_layer_period layers one attends, the attn_layer_offset-th; the others are Mamba's."""
    period, offset = fields.integer_or("attn_layer_period", 8), fields.integer_or("attn_layer_offset", 4, 0)
    return tuple("full_attention" if i % period == offset else "mamba" for i in range(count))


def by_attn_layer_indices(fields: Fields, count: int) -> tuple[str, ...]:
    """Bamba: the layers that attn_layer_indices lists attend, none if it is null; the others are Mamba's."""
    listed = fields.get("attn_layer_indices")
    attending = () if listed is None else listed.value
    if not isinstance(attending, tuple) or not all(type(i) is int and 0 <= i < count for i in attending):
        raise ValueError(wrong("attn_layer_indices", f"must list numbers of layers, from 0 to {count - 1}", attending))
    return tuple("full_attention" if i in attending else "linear_attention" for i in range(count))


def by_global_attn_indexes(fields: Fields, count: int) -> tuple[str, ...]:
    """SAM 3: the layers that global_attn_indexes lists see the whole image, the others their windows."""
    listed = fields.get("global_attn_indexes")
    whole = (7, 15, 23, 31) if listed is None else listed.value
    if not isinstance(whole, tuple) or not all(type(i) is int and i >= 0 for i in whole):
        raise ValueError(wrong("global_attn_indexes", "must list numbers of layers", whole))
    return tuple("full_attention" if i in whole else "window_attention" for i in range(count))


def hybrid_by_period(fields: Fields, count: int) -> tuple[str, ...]:
    """Zamba: layer 2 attends, and of every attn_layer_period layers after it the attn_layer_offset-th."""
    period, offset = fields.integer_or("attn_layer_period", 6), fields.integer_or("attn_layer_offset", 4, 0)
    return tuple(
        "hybrid" if i == 2 or (i > 2 and (i - 3) % period == offset) else "linear_attention" for i in range(count)
    )


def from_max_window_layers(fields: Fields, count: int) -> tuple[str, ...]:
    """Dots 1: sliding from max_window_layers on, unless sliding_window is null."""
    if fields.get("sliding_window") is None:
        return ("full_attention",) * count
    first = fields.integer("max_window_layers", 0)
    return tuple("sliding_attention" if i >= first else "full_attention" for i in range(count))


def by_max_window_layers(fields: Fields, count: int) -> tuple[str, ...]:
    """Qwen: sliding from max_window_layers on, where use_sliding_window says so."""
    return from_max_window_layers(fields, count) if fields.flag("use_sliding_window") else ("full_attention",) * count


def even_below_max_window_layers(fields: Fields, count: int) -> tuple[str, ...]:
    """Qwen 2 with experts: where use_sliding_window says so, even layers below max_window_layers slide."""
    if not fields.flag("use_sliding_window"):
        return ("full_attention",) * count
    end = fields.integer("max_window_layers", 0)
    return tuple("sliding_attention" if i % 2 == 0 and i < end else "full_attention" for i in range(count))


def by_prefix_and_pattern(fields: Fields, count: int) -> tuple[str, ...]:
    """Cohere 2 with experts: every n-th layer is full, with an n of their own in the first_k_dense_replace layers."""
    first = fields.integer_or("first_k_dense_replace", 0, 0)
    patterns = [fields.integer(f"{name}sliding_window_pattern") for name in ("prefix_dense_", "")]
    steps = [(i, patterns[0]) if i < first else (i - first, patterns[1]) for i in range(count)]
    return tuple("sliding_attention" if (i + 1) % n else "full_attention" for i, n in steps)


def by_cross_attention_layers(fields: Fields, count: int) -> tuple[str, ...]:
    """Llama 3.2 with images: cross_attention_layers attend to the image alone."""
    listed = fields.get("cross_attention_layers")
    crossing = listed.value if listed is not None and isinstance(listed.value, tuple) else range(3, 40, 5)
    return tuple("cross_attention" if i in crossing else "full_attention" for i in range(count))


#: DeepSeek-V4's types of layers by how many keys they compress into one.
BY_COMPRESS_RATIO: Mapping[Any, str] = {
    0: "sliding_attention",
    4: "compressed_sparse_attention",
    128: "heavily_compressed_attention",
}


def by_compress_ratios(fields: Fields, count: int) -> tuple[str, ...]:
    """DeepSeek-V4: compress_ratios of its released file; without them two kinds of compressed layers in turn."""
    ratios = fields.get("compress_ratios")
    if ratios is None:
        rule = EveryNth(2, nth="heavily_compressed_attention", other="compressed_sparse_attention", at=0, first=3)
        return rule(fields, count)
    listed = ratios.value if isinstance(ratios.value, tuple) else ()
    if len(listed) < count or not set(listed) <= set(BY_COMPRESS_RATIO):
        raise ValueError(wrong(ratios.key, f"must hold 0, 4 or 128 for each of {count} layers", ratios.value))
    return tuple(BY_COMPRESS_RATIO[ratio] for ratio in listed[:count])


def indexed_and_sliding(fields: Fields, count: int) -> tuple[str, ...]:
    """Dots 3 Note: every fourth layer chooses its keys by an index, the first two as well; the others slide."""
    slides = not fields.states("use_sliding_window") or fields.flag("use_sliding_window")
    full = "full_attention" if _use_dsa(fields) is False else "indexed_attention"
    return tuple("sliding_attention" if slides and i >= 2 and i % 4 != 1 else full for i in range(count))


def full_as_indexed(fields: Fields, types: tuple[str, ...]) -> tuple[str, ...]:
    """Dots 3 Note: "full_attention" of older files means "indexed_attention"; the reverse where use_dsa is false."""
    chooses = _use_dsa(fields)
    if chooses is None:
        return types
    before, after = ("full_attention", "indexed_attention")[:: 1 if chooses else -1]
    return tuple(after if layer_type == before else layer_type for layer_type in types)


def every_full_as_indexed(fields: Fields, types: tuple[str, ...]) -> tuple[str, ...]:
    """Qwen 4: what released files call "full_attention" is "indexed_attention"."""
    return tuple("indexed_attention" if layer_type == "full_attention" else layer_type for layer_type in types)


#: The type of MiniMax-M3's layers that choose blocks of keys by an index.
SPARSE_LAYER = "minimax_m3_sparse"


def by_sparse_attention_freq(fields: Fields, count: int) -> tuple[str, ...]:
    """MiniMax-M3: layers with a 1 in sparse_attention_freq of sparse_attention_config choose their keys by an index."""
    stated = fields.json_object("sparse_attention_config")
    flags = (stated[0] if stated else {}).get("sparse_attention_freq")
    if flags is None:
        return ("full_attention",) * count
    if not isinstance(flags, list) or len(flags) != count or not all(flag in (0, 1) for flag in flags):
        raise ValueError(wrong("sparse_attention_freq", f"must hold 0 or 1 for each of {count} layers", flags))
    return tuple(SPARSE_LAYER if flag else "full_attention" for flag in flags)


def _use_dsa(fields: Fields) -> bool | None:
    fields.mark_used("use_dsa")
    if fields.states("use_dsa"):
        return fields.flag("use_dsa")
    return None if fields.states("per_layer_config") else True


#: Nemotron-H's letters for types of layers, which are also the types of its class, in this order.
BY_LETTER: Mapping[str, str] = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}


def by_hybrid_override_pattern(fields: Fields, count: int) -> tuple[str, ...]:
    """Nemotron-H: a letter for each layer; without them the types of its class again and again."""
    stated = fields.get("hybrid_override_pattern")
    letters = "".join(BY_LETTER) * count if stated is None else word("hybrid_override_pattern", stated.value)
    if not set(letters) <= BY_LETTER.keys():
        raise ValueError(wrong("hybrid_override_pattern", f"must hold the letters {', '.join(BY_LETTER)}", letters))
    return tuple(BY_LETTER[letter] for letter in letters[:count])


def by_linear_attn_config(fields: Fields, count: int) -> tuple[str, ...]:
    """Kimi Linear: full_attn_layers of linear_attn_config, from 1, if kda_layers is there too; else 5, 9, 13, ..."""
    stated = fields.json_object("linear_attn_config")
    lists = {} if stated is None else stated[0]
    full: Any = (i + 1 for i in range(4, count, 4))
    pair = ("full_attn_layers", "kda_layers")
    if lists.keys() >= {*pair}:
        full = lists["full_attn_layers"]
    else:
        for name in pair:
            fields.mark_idle(f"linear_attn_config.{name}", lists.get(name))
    if isinstance(full, str) or not isinstance(full, Iterable):
        raise TypeError(wrong("full_attn_layers", "must list layers", full))
    numbers = {validation.integer("full_attn_layers", number, 1, count) for number in full}
    return tuple("full_attention" if i + 1 in numbers else "linear_attention" for i in range(count))


def without_next_tokens(fields: Fields, types: tuple[str, ...]) -> tuple[str, ...]:
    """Step 3.5: drop the multi-token prediction layers, which released files list behind the model's layers."""
    count, more = num_hidden_layers(fields), fields.integer_or("num_nextn_predict_layers", 0, 0)
    return types[:count] if len(types) == count + more else types


def last_full(fields: Fields, types: tuple[str, ...]) -> tuple[str, ...]:
    """Gemma 4, EmbeddingGemma 2: the last layer is full, whatever the file lists."""
    return (*types[:-1], "full_attention")


def by_full_attn_idxs(fields: Fields, count: int) -> tuple[str, ...]:
    """LFM2: the layers of full_attn_idxs attend, the others are convolutions."""
    listed = fields.get("full_attn_idxs")
    full = listed.value if listed is not None and isinstance(listed.value, tuple) else range(count)
    return tuple("full_attention" if i in full else "conv" for i in range(count))


def full_sliding_conv(fields: Fields, count: int) -> tuple[str, ...]:
    """LFM3: sliding attention, conv, full attention, conv, over and over; layer 0 is a convolution as well."""
    cycle = ("sliding_attention", "conv", "full_attention", "conv")
    return tuple(cycle[i % 4] if i else "conv" for i in range(count))


def by_block_types(fields: Fields, count: int) -> tuple[str, ...]:
    """RecurrentGemma: block_types, repeated; "attention" is full attention, any other word a recurrent layer."""
    blocks = fields.require("block_types").value
    if not isinstance(blocks, tuple) or not blocks:
        raise TypeError(wrong("block_types", "must list the types of blocks", blocks))
    types = ["full_attention" if word("block_types", block) == "attention" else "recurrent" for block in blocks]
    return tuple(types[i % len(types)] for i in range(count))


def by_layers_block_type(fields: Fields, count: int) -> tuple[str, ...]:
    """Zamba 2 without layers_block_type: the hybrid layers of the class's default list of 54, all others linear."""
    hybrid = {6, 12, 18, 24, 30, 36, 42, 47, 51}
    return tuple("hybrid" if i in hybrid else "linear_attention" for i in range(count))


#: Keys that say which layers rotate.
ROTATES = ("no_rope_layers", "no_rope_layer_interval")


def rope_flags(fields: Fields, count: int) -> tuple[bool, ...]:
    """Return whether each layer rotates: no_rope_layers holds 1, in spite of its name, for a layer that does.

    Where a file has no list: all layers but every no_rope_layer_interval-th.
    """
    flags = fields.get("no_rope_layers")
    fields.mark_used("no_rope_layer_interval")
    if flags is None or flags.value == ():
        n = fields.integer("no_rope_layer_interval") if fields.get("no_rope_layer_interval") else 4
        return tuple((i + 1) % n != 0 for i in range(count))
    if not isinstance(flags.value, tuple) or len(flags.value) != count or not set(flags.value) <= {0, 1}:
        raise ValueError(
            wrong(flags.key, f"must hold 1, for a layer that rotates, or 0 for each of {count} layers", flags.value)
        )
    return tuple(bool(flag) for flag in flags.value)


def chunked_where_rotating(fields: Fields, count: int) -> tuple[str, ...]:
    """Llama 4: layers that rotate attend in chunks, the others to everything."""
    return tuple("chunked_attention" if rotates else "full_attention" for rotates in rope_flags(fields, count))


def sliding_where_not_rotating(fields: Fields, count: int) -> tuple[str, ...]:
    """SmolLM3: layers without rotation slide where use_sliding_window says so."""
    slides = fields.flag("use_sliding_window") and fields.get("sliding_window", listed=False) is not None
    flags = rope_flags(fields, count)
    return tuple("full_attention" if rotates or not slides else "sliding_attention" for rotates in flags)


#: Types of layers by older names, which every class renames.
OLDER_NAMES: Mapping[str, str] = {
    "attention": "full_attention",
    "deepseek_sparse_attention": "indexed_attention",
    "mamba": "linear_attention",
    "qwen_sparse_attention": "indexed_attention",
}


def layer_types(
    fields: Fields, count: int, rule: LayerTypeRule, settled: SettledTypes | None = None
) -> tuple[str, ...]:
    """Return the type of every layer, from the file as `settled` by the class, else by the rule of the class."""
    listed = fields.get("layer_types", listed=False)
    if listed is None:
        return rule(fields, count)
    named = [word(listed.key, item) for item in listed.value] if isinstance(listed.value, tuple) else []
    types = tuple(OLDER_NAMES.get(name, name) for name in named)
    types = settled(fields, types) if settled and types else types
    if len(types) != count:
        raise ValueError(wrong(listed.key, f"must name a type for each of {count} layers", listed.value))
    return types


def word(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(wrong(key, "must hold words", value))
    return value
