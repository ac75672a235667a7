"""Rows of the table of model types: how a type's class treats positions where the config does not say."""

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
from posenc.models.config.patch_rules import PatchRule, patches_of_table
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
    """Rules of some model types for positions that no config states; types that treat them alike share a row.

    `from_config` takes those of a caller in `types`; "Add a model" in the guide explains every field.

    Attributes:
        names: As configs state them under model_type.
        part: Of the model: "text", "vision", "audio", "encoder" or "decoder", for example.
        tables: Readers of what is added before the first layer.
        reader: Of layers that do not rotate; it returns None where those of this file do after all.
        older_names: The spelling of keys in older files, which the class renames.
        ignored_keys: Keys on positions that these types ignore.
        neutral_keys: Keys on positions, each with the value that changes nothing; any other is refused.
        unsupported: Why no encoding says what these types do.
        left_out: Whether a model with such an unsupported part is read without it, with a note.
        layer_count: Of layers that rotate queries and keys, as all that follows: their count.
        layer_types: The type of each layer, where the file does not list them.
        settled_types: What the class makes of types that the file lists.
        rotations: The layers that rotate, and their values.
        rope_keys: Keys inside rope_parameters that these types read besides the common ones.
        pairing: The channels that rotate together; "rope_interleave" where the key of that name says it.
        head_dim: Channels of a head.
        partial: Whether partial_rotary_factor counts at rope_type "default".
        last: Whether the last channels of a head rotate, not the first.
        rotated_slice: The channels that rotate, where neither head_dim nor partial_rotary_factor says it.
        axes: How pairs are shared among several axes.
        sections: Pairs of each axis where the file states no mrope_section.
        backward: Whether all angles are negative.
        logit_factor: The factor of logits besides 1/√d.
        notes: Traps of these classes.
        unrotated: What the layers that do not rotate do in its place.
        window: The keys near it that a query sees.
        roles: What is rotated besides the queries and keys of attention.
        patches: The positions of the patches of an image.
        stacks: Other stacks of layers of the same config, as an encoder next to its decoder: rows without names, of
            which `part` and the fields from `layer_count` on count, without `patches`.

    Raises:
        TypeError: `names` is no tuple of words.
        ValueError: `pairing` is none of its words.
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
    patches: PatchRule = patches_of_table
    stacks: tuple[ModelType, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.names, tuple) or not all(isinstance(name, str) for name in self.names):
            raise TypeError(f"names must be a tuple of words; got {validation.shown(self.names)}. Write ('in_house',).")
        validation.choice("pairing", self.pairing, ("adjacent", "halves", "rope_interleave"))


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
    """Say what is wrong with the known keys of a file that are not neutral."""
    problems = {
        key: f"its value {validation.shown(fields.data[key])} is not supported; for this type it can be "
        f"{_either(values)}"
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
