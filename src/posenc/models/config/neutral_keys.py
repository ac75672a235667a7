"""Keys on positions whose value says what a model type does anyway: such a value is read over, any other is refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from posenc.core import validation
from posenc.models.config.fields import Fields
from posenc.models.config.model_type import ModelType

#: Keys of published files, each with the values that change nothing in a model that rotates.
NEUTRAL: Mapping[str, tuple[object, ...]] = MappingProxyType(
    {
        "rotary": (True,),  # GPT-J
        "use_rotary_pos_emb": (True,),  # HunYuan
        "use_pos_enc": (True,),  # LFM2
        "use_rope": (True,),
        "use_mrope": (False,),  # MiMo
        "position_embedding_xdrope": (False,),  # HunYuan
        "position_embedding_type": ("rope", "rotary"),
        "rotary_emb_fraction": (1.0,),  # nomic
        "rotary_pct": (1.0,),  # Command-R7B
        "rotary_scaling_factor": (1.0,),
        "alibi": (False,),
    }
)
#: Keys that say whether adjacent channels are paired.
INTERLEAVED = ("rope_interleaved", "rotary_emb_interleaved", "rotary_interleaved", "rope_gptj")
#: Keys that older files have next to the one that they repeat.
REPEATS = dict.fromkeys(("rope_pct", "rope_percent", "rotary_percent"), "partial_rotary_factor")


def neutral_keys(fields: Fields, row: ModelType) -> list[str]:
    """The keys of a file that state what its type does anyway."""
    return [key for key, values in _supported(fields, row).items() if key in fields.data and fields.data[key] in values]


def unsupported_values(fields: Fields, row: ModelType) -> dict[str, str]:
    """What is wrong with the known keys of a file that are not read over."""
    problems = {
        key: f"its value {validation.shown(fields.data[key])} is not supported; for this type it can be {_either(values)}"
        for key, values in _supported(fields, row).items()
        if key in fields.data and fields.data[key] not in values
    }
    alone = [key for key, other in REPEATS.items() if other not in fields.data and row.reader is None]
    return problems | {key: f"it can repeat {REPEATS[key]} alone, which the file does not state" for key in alone}


def _either(values: tuple[object, ...]) -> str:
    *first, last = map(repr, dict.fromkeys(values))
    return f"{', '.join(first)} or {last}" if first else last


def _supported(fields: Fields, row: ModelType) -> dict[str, tuple[object, ...]]:
    """The values that state what a type does anyway, by key."""
    values: dict[str, tuple[object, ...]] = {key: (value,) for key, value in row.neutral_keys.items()}
    if row.reader is not None:
        return values
    for key, neutral in NEUTRAL.items():
        values[key] = (*values.get(key, ()), *neutral)
    adjacent = row.pairing == "adjacent"
    if adjacent:
        values["position_embedding_type"] = (*values["position_embedding_type"], "rope_gptj")
    if row.pairing != "rope_interleave":
        values |= dict.fromkeys(INTERLEAVED, (adjacent,))
    repeated = {key: fields.data[other] for key, other in REPEATS.items() if other in fields.data}
    return values | {key: (value,) for key, value in repeated.items()}
