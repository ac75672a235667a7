"""The type of every layer where a file does not list them: a rule for each class."""

from __future__ import annotations

from collections.abc import Callable

from posenc import _check
from posenc.models.config.fields import Fields

Rule = Callable[[Fields, int], tuple[str, ...]]


def every(period: int, last: str = "full_attention", other: str = "sliding_attention") -> Rule:
    """Every so manieth layer is of one type, the others of another."""
    return lambda fields, count: tuple(last if (i + 1) % period == 0 else other for i in range(count))


def every_by(key: str, period: int, last: str = "full_attention", other: str = "sliding_attention") -> Rule:
    """As `every`, with the period in the file under a key."""

    def rule(fields: Fields, count: int) -> tuple[str, ...]:
        return every(fields.integer(key) if fields.get(key) else period, last, other)(fields, count)

    return rule


def from_window(fields: Fields, count: int) -> tuple[str, ...]:
    """Qwen: sliding from max_window_layers on, where use_sliding_window says so."""
    fields.use(("use_sliding_window", "max_window_layers", "sliding_window"))
    if not fields.truth("use_sliding_window") or fields.get("sliding_window") is None:
        return ("full_attention",) * count
    first = fields.integer("max_window_layers", 0)
    return tuple("sliding_attention" if i >= first else "full_attention" for i in range(count))


def first_of(period: int, first: str = "full_attention", other: str = "sliding_attention") -> Rule:
    """The first of every so many layers is of one type."""
    return lambda fields, count: tuple(other if i % period else first for i in range(count))


def by_first(key: str, period: int) -> Rule:
    """As `first_of`, with the period in the file under a key."""
    return lambda fields, count: first_of(fields.integer(key) if fields.get(key) else period)(fields, count)


def windowed(fields: Fields, count: int) -> tuple[str, ...]:
    """EXAONE: every sliding_window_pattern-th layer is full; all are where there is no window."""
    fields.use(("sliding_window", "sliding_window_pattern"))
    if fields.get("sliding_window", keep=False) is None:
        return ("full_attention",) * count
    return every(fields.integer("sliding_window_pattern"))(fields, count)


def counted_back(fields: Fields, count: int) -> tuple[str, ...]:
    """Muse: every fourth layer is full, counted from the last."""
    return tuple("sliding_attention" if (count - 1 - i) % 4 else "full_attention" for i in range(count))


def ends_full(rule: Rule) -> Rule:
    """The rule, with the last layer full whatever it says."""
    return lambda fields, count: (*rule(fields, count)[:-1], "full_attention")


def uniform(kind: str) -> Rule:
    """All layers of one type."""
    return lambda fields, count: (kind,) * count


def listed_full(fields: Fields, count: int) -> tuple[str, ...]:
    """LFM2: the layers of full_attn_idxs attend, the others are convolutions."""
    given = fields.get("full_attn_idxs")
    full = given.value if given is not None and isinstance(given.value, tuple) else range(count)
    return tuple("full_attention" if i in full else "conv" for i in range(count))


def repeated(fields: Fields, count: int) -> tuple[str, ...]:
    """RecurrentGemma: block_types over and over."""
    blocks = fields.need("block_types").value
    if not isinstance(blocks, tuple) or not blocks:
        raise TypeError(f"block_types must list the types of blocks; got {_check.shown(blocks)}. Look at the file.")
    words = [word("block_types", block) for block in blocks]
    return tuple("full_attention" if words[i % len(words)] == "attention" else "recurrent" for i in range(count))


def unrotated(fields: Fields, count: int) -> tuple[str, ...]:
    """Llama 4: layers that rotate attend in chunks, the others to everything."""
    return tuple("chunked_attention" if turns else "full_attention" for turns in rotating(fields, count))


def rotating(fields: Fields, count: int) -> tuple[bool, ...]:
    """no_rope_layers, in spite of its name 1 for a layer that does rotate; else all but every no_rope_layer_interval-th."""
    given = fields.get("no_rope_layers")
    fields.use(("no_rope_layer_interval",))  # which counts where the layers are not listed
    if given is None or given.value == ():
        period = fields.integer("no_rope_layer_interval") if fields.get("no_rope_layer_interval") else 4
        return tuple((i + 1) % period != 0 for i in range(count))
    if not isinstance(given.value, tuple) or len(given.value) != count or not set(given.value) <= {0, 1}:
        raise ValueError(
            f"{given.key} must hold 1, for a layer that rotates, or 0 for each of {count} layers; got {_check.shown(given.value)}. "
            "Look at the file."
        )
    return tuple(bool(one) for one in given.value)


def smol(fields: Fields, count: int) -> tuple[str, ...]:
    """SmolLM3: layers without rotation slide where use_sliding_window says so."""
    fields.use(("use_sliding_window", "sliding_window"))
    slides = fields.truth("use_sliding_window") and fields.get("sliding_window", keep=False) is not None
    return tuple("full_attention" if turns or not slides else "sliding_attention" for turns in rotating(fields, count))


def by_modulus(period: int, full: tuple[int, ...], *, first: int = 0, last: bool = False) -> Rule:
    """Full where the index modulo the period is one of some, in the first few layers, and perhaps in the last."""

    def rule(fields: Fields, count: int) -> tuple[str, ...]:
        return tuple(
            "full_attention" if i < first or i % period in full or (last and i == count - 1) else "sliding_attention"
            for i in range(count)
        )

    return rule


def word(key: str, kind: object) -> str:
    if not isinstance(kind, str):
        raise TypeError(f"{key} must hold words; got {_check.shown(kind)}. Look at the file.")
    return kind


def hybrid(fields: Fields, count: int) -> tuple[str, ...]:
    """Zamba 2: layers_block_type, in its own words; the class's own list has 54."""
    given = fields.get("layers_block_type", keep=False)
    if given is None:
        places = {6, 12, 18, 24, 30, 36, 42, 47, 51}
        return tuple("hybrid" if i in places else "linear_attention" for i in range(count))
    if not isinstance(given.value, tuple) or len(given.value) != count:
        raise ValueError(f"{given.key} must name a type for each of {count} layers; got {_check.shown(given.value)}.")
    return tuple("hybrid" if one == "hybrid" else "linear_attention" for one in given.value)


RULES: dict[str, Rule] = {
    "afmoe": every_by("global_attn_every_n_layers", 4),
    "axk2": uniform("indexed_attention"),
    "bailing_hybrid": every_by("layer_group_size", 4, other="linear_attention"),
    "beam": ends_full(every(6)),
    "cohere2": every_by("sliding_window_pattern", 4),
    "cohere2_moe": every_by("sliding_window_pattern", 4),
    "cwm": first_of(4),
    "deepseek_ocr2_encoder": from_window,
    "deepseek_v4": lambda fields, count: tuple(
        "compressed_sparse_attention" if i > 2 and i % 2 else "heavily_compressed_attention" for i in range(count)
    ),
    "deepseek_v32": uniform("indexed_attention"),
    "diffusion_gemma_text": ends_full(every(6)),
    "dots3_note_text": lambda fields, count: tuple(
        "indexed_attention" if i < 2 or i % 4 == 1 else "sliding_attention" for i in range(count)
    ),
    "embedding_gemma2_text": ends_full(every_by("sliding_window_pattern", 6)),
    "exaone4": windowed,
    "exaone_moe": windowed,
    "flint": by_modulus(4, (1,), first=2, last=True),
    "gemma2": every(2),
    "gemma3_text": every_by("sliding_window_pattern", 6),
    "gemma3n_text": every(5),
    "gemma4_text": ends_full(every(6)),
    "gemma4_unified_text": ends_full(every(6)),
    "glm_moe_dsa": uniform("indexed_attention"),
    "gpt_oss": every(2),
    "granite_swa": first_of(4),
    "granitemoe_swa": first_of(4),
    "granitemoehybrid": uniform("linear_attention"),
    "hy_v4": uniform("indexed_attention"),
    "kolibri1": every(5),
    "lfm2": listed_full,
    "lfm3": lambda fields, count: tuple(
        "full_attention" if i % 4 == 2 else "sliding_attention" if i % 4 == 0 and i else "conv" for i in range(count)
    ),
    "lfm3_vl_vision": lambda fields, count: tuple("conv" if i < 2 or i % 2 else "full_attention" for i in range(count)),
    "llama4_text": unrotated,
    "mimo_v2_flash": by_modulus(6, (5,), first=1),
    "minimax": lambda fields, count: tuple("linear_attention" if i % 2 else "full_attention" for i in range(count)),
    "ministral": lambda fields, count: (
        ("full_attention" if fields.get("sliding_window", keep=False) is None else "sliding_attention",) * count
    ),
    "mistral_large4_text": uniform("indexed_attention"),
    "modernbert": by_first("global_attn_every_n_layers", 3),
    "modernbert-decoder": by_first("global_attn_every_n_layers", 3),
    "muse_glimmer_assistant": uniform("sliding_attention"),
    "muse_glimmer_text": counted_back,
    "muse_glimmer_vision": ends_full(every(4, other="window_attention")),
    "muse_spark_text": counted_back,
    "muse_spark_vision": ends_full(every(4, other="window_attention")),
    "neomme": ends_full(every(6)),
    "olmo3": every(4),
    "olmo_hybrid": every(4, other="linear_attention"),
    "openai_privacy_filter": uniform("sliding_attention"),
    "qwen2": from_window,
    "qwen2_5_omni_text": from_window,
    "qwen2_5_vl_text": from_window,
    "qwen2_moe": from_window,
    "qwen2_vl_text": from_window,
    "qwen3": from_window,
    "qwen3_5_moe_text": every_by("full_attention_interval", 4, other="linear_attention"),
    "qwen3_5_text": every_by("full_attention_interval", 4, other="linear_attention"),
    "qwen3_next": every_by("full_attention_interval", 4, other="linear_attention"),
    "qwen3_omni_moe_talker_code_predictor": from_window,
    "qwen4_exp_text": every_by("full_attention_interval", 4, "indexed_attention", "linear_attention"),
    "recurrent_gemma": repeated,
    "smollm3": smol,
    "t5_gemma_module": every(2),
    "t5gemma2_decoder": every_by("sliding_window_pattern", 6),
    "t5gemma2_text": every_by("sliding_window_pattern", 6),
    "ultrabert": every(3),
    "unlimited_ocr_text": lambda fields, count: (
        ("full_attention" if fields.get("sliding_window", keep=False) is None else "reference_sliding_attention",)
        * count
    ),
    "vaultgemma": every(2),
    "zamba2": hybrid,
    "zaya": uniform("hybrid"),
}
