"""Groups of layers of one config: its tables, and the rotations of its layers."""

from __future__ import annotations

from dataclasses import replace

from posenc.core.rotation import PairLayout
from posenc.models.config.compared_as_stated import notes_as_stated, notes_of_sight
from posenc.models.config.embedding_scale import notes_of_embedding_scale
from posenc.models.config.fields import Fields
from posenc.models.config.model_type import Groups, ModelType, neutral_keys
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.rotary_layers import rotary_groups
from posenc.models.config.sight_rules import notes_of_later_keys
from posenc.models.model_positions import LayerGroup, Value


def groups_of_config(fields: Fields, row: ModelType, model_type: str, layout: PairLayout | None) -> Groups:
    """Read the groups of one config, with notes in `fields`; `layout` is that of the pairs in converted rows."""
    fields.mark_used(*row.ignored_keys, *neutral_keys(fields, row))
    tables = tuple(group for table in row.tables for group in table(fields))
    layers = row.reader(fields) if row.reader else None
    if layers is None:
        rows = (one if layout is None else replace(one, pairing=layout) for one in (row, *row.stacks))
        layers = tuple(group for one in rows for group in rotary_groups(fields, one))
    length = _declared_length(fields)
    groups = tuple(replace(group, length=length) for group in (*tables, *layers))
    notes = (
        *notes_of_later_keys(fields, model_type, groups),
        *notes_of_sight(fields, model_type),
        *notes_of_embedding_scale(fields, model_type),
    )
    fields.notes.update(dict.fromkeys(notes))
    if row is MODEL_TYPES.get(model_type):  # not a row of the caller's own
        fields.notes.update(dict.fromkeys(notes_as_stated(fields, model_type, groups)))
    if row.part != "vision":
        return groups
    return tuple(_with_patches(fields, row, group) for group in groups)


def _with_patches(fields: Fields, row: ModelType, group: LayerGroup) -> LayerGroup:
    """Add positions of patches to a group, with the key of the squares that they stand in."""
    patches, merged = row.patches(fields, group), fields.values_of("spatial_merge_size")
    values = group.values if patches is None else tuple(dict.fromkeys((*group.values, *merged)))
    return replace(group, patches=patches, values=values)


def _declared_length(fields: Fields) -> Value | None:
    """Read max_position_embeddings of a part as its length; None where it is absent or no positive integer."""
    stated = fields.get("max_position_embeddings", listed=False)
    is_length = stated is not None and type(stated.value) is int and stated.value > 0
    return replace(stated, name="length") if stated is not None and is_length else None
