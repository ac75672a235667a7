"""Models that rotate queries and keys: a group for each type of layer and rotation."""

from __future__ import annotations

from dataclasses import replace

from posenc.compose import Backward
from posenc.core.rotation import PairLayout
from posenc.models.config.config_classes import UNKNOWN_CLASS, nested
from posenc.models.config.factors import root_of_width, rope_temperature
from posenc.models.config.fields import Fields
from posenc.models.config.head_rules import HEAD_KEYS, Head, head_dim_of_layer
from posenc.models.config.layer_type_rules import ROTATES, layer_types
from posenc.models.config.model_type import Groups, ModelType
from posenc.models.config.pair_axes import PairAxes, pair_axes
from posenc.models.config.rope_parameters import ROPE_TYPES, RopeParameters
from posenc.models.config.rotary_encoding import rotary_encoding
from posenc.models.config.rotation_rules import NO_SELF_ATTENTION, LayerRotations
from posenc.models.config.unread_keys import of_unknown_type, unread
from posenc.models.config.window_rules import WINDOW_KEYS
from posenc.models.model_positions import LayerGroup, NearKeys, Value

#: Keys inside rope_parameters of models with several axes.
AXES_KEYS = ("mrope_section", "mrope_interleaved")


def rotary_groups(fields: Fields, row: ModelType) -> Groups:
    """Make a group for each combination of layer type, rotation, head and window, in the order of the layers."""
    types = layer_types(fields, row.layer_count(fields), row.layer_types, row.settled_types)
    rotations = _without_waived(fields, row, row.rotations(fields, types))
    if len(rotations) != len(types):
        raise ValueError(
            f"rotations must have one entry for each of {len(types)} layers, None where a layer does not rotate; the "
            f"rule of this ModelType returned {len(rotations)}. Correct the rule, or the plan in the file."
        )
    by_layer = fields.states("per_layer_config")
    heads: dict[tuple[str, int, int], Head] = {}
    layers: dict[tuple[str, int, Head | None, NearKeys | None], list[int]] = {}
    for layer, (layer_type, rope) in enumerate(zip(types, rotations, strict=True)):
        head = None
        if rope is not None:
            place = (layer_type, id(rope), layer if by_layer else 0)
            head = heads.get(place) or heads.setdefault(place, _head(fields, row, rope, layer_type, layer))
        layers.setdefault((layer_type, id(rope), head, row.window(fields, types, layer)), []).append(layer)
    groups = []
    for (layer_type, _, head, window), numbers in layers.items():
        rope = rotations[numbers[0]]
        if rope is not None and head is not None:
            group = _rotary_group(fields, row, layer_type, tuple(numbers), rope, head)
        else:
            group = _non_rotary_group(fields, row, layer_type, tuple(numbers))
        groups.append(_with_window(fields, window, group))
    return tuple(groups)


def _without_waived(fields: Fields, row: ModelType, stated: LayerRotations) -> LayerRotations:
    """Drop waived values and set unknown ones aside in each layer's rotation; equal rotations become one object."""
    waive, known = fields.options.waive, _rope_keys(row)
    of_stated: dict[int, RopeParameters | None] = {id(None): None}
    distinct: dict[RopeParameters, RopeParameters] = {}
    for rope in stated:
        if rope is not None and id(rope) not in of_stated:
            fields.mark_waived(*((value.key, value.value) for value in rope.left_out_by(waive, known)))
            kept = rope.without(waive).read_by(known)
            of_stated[id(rope)] = distinct.setdefault(kept, kept)
    return tuple([of_stated[id(rope)] for rope in stated])


def _rope_keys(row: ModelType) -> frozenset[str]:
    """Keys inside rope_parameters that these types read besides those of every type."""
    return frozenset((*row.rope_keys, *(AXES_KEYS if row.axes else ())))


def _with_window(fields: Fields, window: NearKeys | None, group: LayerGroup) -> LayerGroup:
    """Add a window, and the config values that it follows from, to a group."""
    if window is None:
        return group
    return replace(group, window=window, values=(*group.values, *fields.values_of(*WINDOW_KEYS)))


def _non_rotary_group(fields: Fields, row: ModelType, layer_type: str, layers: tuple[int, ...]) -> LayerGroup:
    factor = 1.0
    if row.logit_factor is not root_of_width and layer_type not in NO_SELF_ATTENTION:
        factor = row.logit_factor(fields, None, _head(fields, row, RopeParameters(()), layer_type, layers[0]).dim)
    group = LayerGroup(row.part, layer_type, layers, (), logit_factor=factor, notes=row.notes)
    return row.unrotated(fields, group) if row.unrotated else group


def _rotary_group(
    fields: Fields, row: ModelType, layer_type: str, layers: tuple[int, ...], rope: RopeParameters, head: Head
) -> LayerGroup:
    longest = fields.get("max_position_embeddings")
    pairing = _pairing(fields, row)
    axes, sections = _axes(row, rope, head.width)
    encoding = rotary_encoding(fields, rope, head, pairing, axes, longest)
    group = LayerGroup(
        part=row.part,
        attention=layer_type,
        layers=layers,
        encodings=(Backward(encoding) if row.backward else encoding,),
        logit_factor=row.logit_factor(fields, rope, head.dim),
        query_temperature=rope_temperature(rope, head.dim),
        values=(*_values(rope), *sections, *fields.values_of(*HEAD_KEYS, *ROTATES)),
        notes=(*_notes_of_unread(fields, row, rope), *row.notes),
    )
    return replace(group, roles=row.roles(fields, group)) if row.roles else group


def _notes_of_unread(fields: Fields, row: ModelType, rope: RopeParameters) -> tuple[str, ...]:
    """Note the keys of a rotation that go unread: by its rope_type, by its class or by every class."""
    share, waived = rope.get("partial_rotary_factor"), fields.options.waive
    left = [(value.name, value.key, value.value) for value in rope.unread if value.key not in waived]
    if share and share.source != "class default" and rope.rope_type == "default" and not _counts_share(row):
        left.append((share.key, share.key, fields.data.get(share.key, share.value)))
    if row.axes and (idle := rope.get("mrope_interleaved")):
        left.append((idle.name, idle.key, idle.value))
    notes = unread(left) if fields.config_class is not UNKNOWN_CLASS else of_unknown_type("its class", left)
    truncate = next((value for value in rope.values if value.name == "truncate" and value.value is False), None)
    if truncate and rope.rope_type == "yarn" and nested(fields.config_class.absent):
        notes = (*notes, f"transformers 5.23.0 truncates whatever {truncate.key} says")
    return (*rope.unread_notes(_rope_keys(row)), *notes)


def _counts_share(row: ModelType) -> bool:
    """Say whether partial_rotary_factor counts at rope_type "default"."""
    return row.partial or row.rotated_slice is not None or bool(row.axes and row.axes.rotated)


def _head(fields: Fields, row: ModelType, rope: RopeParameters, layer_type: str, layer: int) -> Head:
    """The channels of a head, and which of them rotate."""
    if row.rotated_slice:
        return row.rotated_slice(fields, rope, layer_type, layer)
    dim, rope_type = head_dim_of_layer(fields, row.head_dim, layer_type, layer), rope.rope_type
    if row.axes and row.axes.rotated:
        return Head(dim, row.axes.rotated(dim))
    # Two types choose pairs, or a base, in place of channels. The others heed a part of the head in every class.
    chooses = rope_type == "proportional" or (rope_type == "dynamic" and rope.get("alpha"))
    if chooses or (rope_type == "default" and not row.partial):
        return Head(dim, dim)
    width = int(dim * rope.real("partial_rotary_factor", 1.0))
    if width % 2 or not 0 < width <= dim:
        raise ValueError(
            f"partial_rotary_factor must leave an even number of channels of a head of {dim}; got {width}. "
            "Look at head_dim, or at hidden_size and num_attention_heads."
        )
    return Head(dim, width, dim - width if row.last else 0)


def _pairing(fields: Fields, row: ModelType) -> PairLayout:
    """Return the layout of pairs, which files of some classes state, since checkpoints come in both."""
    if row.pairing == "rope_interleave":
        return "adjacent" if fields.flag("rope_interleave") else "halves"
    return row.pairing


def _axes(row: ModelType, rope: RopeParameters, width: int) -> tuple[PairAxes | None, tuple[Value, ...]]:
    """Return how pairs are shared among axes, and where their sections come from; None for one axis."""
    if row.axes is None:
        return None, ()
    if not row.axes.stated:
        return pair_axes(row.axes, width, None), ()
    stated, older = rope.get("mrope_section"), rope.get("xdrope_section")
    if stated and older and stated.value != older.value:
        raise ValueError(
            f"mrope_section must equal xdrope_section, its older name; got {stated.value!r} and {older.value!r}. Keep "
            "one."
        )
    default = Value("mrope_section", row.sections or None, "class default", "rope_parameters.mrope_section")
    sections = stated or older or default
    return pair_axes(row.axes, width, sections.value), (sections,)


def _values(rope: RopeParameters) -> tuple[Value, ...]:
    """The values that count for this type of rotation."""
    reads = ROPE_TYPES[rope.rope_type].reads | {"rope_type", "rope_theta", "llama_4_scaling_beta"}
    reads |= {"alpha"} if rope.rope_type == "dynamic" else set()
    return tuple(value for value in rope.values if value.name in reads and value.value is not None)
