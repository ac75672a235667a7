"""Which layer is of which type."""

from __future__ import annotations

from collections.abc import Callable

from posenc import _check
from posenc.models.fields import Fields

#: The most layers that are accepted; the deepest released models have a few hundred.
MOST_LAYERS = 1 << 13
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


RULES: dict[str, Rule] = {
    "gemma2": every(2),
    "gemma3_text": every_by("sliding_window_pattern", 6),
    "modernbert": lambda fields, count: first_of(
        fields.integer("global_attn_every_n_layers") if fields.get("global_attn_every_n_layers") else 3
    )(fields, count),
    "olmo3": every(4),
    "qwen2": from_window,
    "qwen3": from_window,
    "vaultgemma": every(2),
}


def layer_types(fields: Fields, model_type: str) -> tuple[str, ...]:
    """The type of every layer, from the file, else by the rule of the class, else "full_attention" for all."""
    count = fields.integer("num_hidden_layers", 1, MOST_LAYERS)
    given = fields.get("layer_types", keep=False)
    if given is None:
        return RULES[model_type](fields, count) if model_type in RULES else ("full_attention",) * count
    if not isinstance(given.value, tuple) or len(given.value) != count:
        raise ValueError(
            f"{given.key} must name a type for each of {count} layers; got {_check.shown(given.value)}. Look at the file."
        )
    return tuple(_word(given.key, kind) for kind in given.value)


def _word(key: str, kind: object) -> str:
    if not isinstance(kind, str):
        raise TypeError(f"{key} must hold words; got {_check.shown(kind)}. Look at the file.")
    return kind


def indices(types: tuple[str, ...], kind: str) -> tuple[int, ...]:
    """The layers of one type."""
    return tuple(i for i, one in enumerate(types) if one == kind)
