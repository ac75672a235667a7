"""One row of the table of model types: what their classes do with positions and no config says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from posenc.core import validation
from posenc.models.config.factors import LogitFactor, root_of_width
from posenc.models.config.fields import Fields
from posenc.models.config.head_rules import HeadDim, RotatedSlice, stated_head_dim
from posenc.models.config.layer_type_rules import (
    LayerCount,
    LayerTypeRule,
    SettledTypes,
    num_hidden_layers,
    uniform,
)
from posenc.models.config.pair_axes import AxisLayout, Sections
from posenc.models.config.role_rules import RoleRule
from posenc.models.config.rotation_rules import ByLayerType, RotationRule
from posenc.models.config.window_rules import WindowRule, by_layer_type
from posenc.models.model_positions import LayerGroup

Groups = tuple[LayerGroup, ...]
#: What reads a part of a config.
Reader = Callable[[Fields], Groups]

ALL_FULL = uniform("full_attention")
ALL_ROTATE = ByLayerType()


@dataclass(frozen=True)
class ModelType:
    """Model types that treat positions alike.

    Of every type:
    names          as configs state them under model_type
    part           of the model: "text", "vision", "audio", "encoder" or "decoder", say
    tables         what is added before the first layer
    reader         what reads the layers that do not rotate; it returns None where those of this file do after all
    older_names    how older files spell keys, which the class renames
    ignored_keys   keys on positions that these types ignore
    neutral_keys   keys on positions, each with the value that changes nothing; any other is refused
    unsupported    why no encoding says what these types do
    left_out       whether a model with such an unsupported part is read without it, with a note

    Of layers that rotate queries and keys:
    layer_count    how many layers there are
    layer_types    of which type each layer is, where the file does not list them
    settled_types  what the class makes of types that the file lists
    rotations      which layers rotate, and by which values
    rope_keys      keys inside rope_parameters that these types read besides the common ones
    pairing        which channels rotate together; "rope_interleave" where the key of that name says it
    head_dim       how many channels a head has
    partial        whether partial_rotary_factor counts at rope_type "default"
    last           whether the last channels of a head rotate, not the first
    rotated_slice  which channels rotate, where neither head_dim nor partial_rotary_factor says it
    axes           how pairs are shared among several axes
    sections       how many pairs each axis has where the file states no mrope_section
    backward       whether all angles are negative
    logit_factor   what logits are multiplied by besides 1/√d
    notes          traps of these classes
    unrotated      what the layers that do not rotate do in its place
    window         which keys near it a query sees
    roles          what is rotated besides the queries and keys of attention
    """

    names: tuple[str, ...]
    part: str = "text"
    tables: tuple[Reader, ...] = ()
    reader: Callable[[Fields], Groups | None] | None = None
    older_names: Mapping[str, str] = field(default_factory=dict)
    ignored_keys: tuple[str, ...] = ()
    neutral_keys: Mapping[str, object] = field(default_factory=dict)
    unsupported: str = ""
    left_out: bool = False
    layer_count: LayerCount = num_hidden_layers
    layer_types: LayerTypeRule = ALL_FULL
    settled_types: SettledTypes | None = None
    rotations: RotationRule = ALL_ROTATE
    rope_keys: tuple[str, ...] = ()
    pairing: Literal["adjacent", "halves", "rope_interleave"] = "halves"
    head_dim: HeadDim = stated_head_dim
    partial: bool = False
    last: bool = False
    rotated_slice: RotatedSlice | None = None
    axes: AxisLayout | None = None
    sections: Sections = ()
    backward: bool = False
    logit_factor: LogitFactor = root_of_width
    notes: tuple[str, ...] = ()
    unrotated: Callable[[Fields, LayerGroup], LayerGroup] | None = None
    window: WindowRule = by_layer_type
    roles: RoleRule | None = None


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
