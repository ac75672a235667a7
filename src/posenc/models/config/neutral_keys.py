"""Keys on positions whose value says what a model type does anyway: such a value is read over, any other is refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
#: Keys that older files have beside the one that they repeat.
REPEATS = dict.fromkeys(("rope_pct", "rope_percent", "rotary_percent"), "partial_rotary_factor")


def neutral_keys(fields: Fields, row: ModelType) -> list[str]:
    """The keys of a file that state what its type does anyway."""
    keys = [key for key, value in row.neutral_keys.items() if fields.data.get(key) == value]
    if row.reader is not None:
        return keys
    adjacent = row.pairing == "adjacent"
    keys += [key for key in INTERLEAVED if row.pairing != "rope_interleave" and fields.data.get(key) is adjacent]
    if adjacent and fields.data.get("position_embedding_type") == "rope_gptj":
        keys.append("position_embedding_type")
    keys += [key for key, other in REPEATS.items() if key in fields.data and fields.data[key] == fields.data.get(other)]
    return keys + [key for key, values in NEUTRAL.items() if key in fields.data and fields.data[key] in values]
