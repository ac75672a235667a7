"""One row of the table of model types: what their classes do with positions and no config says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

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
