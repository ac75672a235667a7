"""Which layer is of which type."""

from __future__ import annotations

from posenc import _check
from posenc.models.config.fields import Fields
from posenc.models.config.layer_rules import RULES, word
from posenc.models.config.model_types import MEMORY

#: The most layers that are accepted; the deepest released models have a few hundred.
MOST_LAYERS = 1 << 13


def layer_types(fields: Fields, model_type: str) -> tuple[str, ...]:
    """The type of every layer, from the file, else by the rule of the class, else "full_attention" for all."""
    count = _count(fields, model_type)
    if model_type in MEMORY:
        return ("memory_attention",) * count
    given = fields.get("layer_types", keep=False)
    if given is None:
        return RULES[model_type](fields, count) if model_type in RULES else ("full_attention",) * count
    if not isinstance(given.value, tuple) or len(given.value) != count:
        raise ValueError(
            f"{given.key} must name a type for each of {count} layers; got {_check.shown(given.value)}. Look at the file."
        )
    return tuple(word(given.key, kind) for kind in given.value)


def _count(fields: Fields, model_type: str) -> int:
    """How many attentions there are, one after the other."""
    if model_type in MEMORY:
        return fields.integer("memory_attention_num_layers", 1, MOST_LAYERS)
    if model_type == "efficientloftr":
        return fields.integer("num_attention_layers", 1, MOST_LAYERS)
    if model_type == "longcat_flash" and not fields.given("num_hidden_layers"):
        return 2 * fields.integer("num_layers", 1, MOST_LAYERS)  # two a layer
    count = fields.integer("num_hidden_layers", 1, MOST_LAYERS)
    if model_type == "hrm_text" and not fields.given("num_layers_per_stack"):
        high, low = (
            fields.integer(key, 1, 64) if fields.given(key) else own for key, own in (("H_cycles", 2), ("L_cycles", 3))
        )
        count *= high * (low + 1)  # the same stacks again, in two kinds of cycles
    return _check.integer("num_hidden_layers", count, 1, MOST_LAYERS)


def indices(types: tuple[str, ...], kind: str) -> tuple[int, ...]:
    """The layers of one type."""
    return tuple(i for i, one in enumerate(types) if one == kind)
