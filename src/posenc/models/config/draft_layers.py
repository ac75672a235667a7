"""Layers behind those of a model that draft further tokens (multi-token prediction), as its checkpoint holds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from posenc.models.config.fields import Fields
from posenc.models.config.layer_type_rules import BY_COMPRESS_RATIO, MOST_LAYERS, OLDER_NAMES
from posenc.models.model_positions import DRAFT, LayerGroup
from posenc.models.notes import NotRead

#: How files spell the count of these layers.
COUNT = "num_nextn_predict_layers"
#: Lists that have an entry for every layer, these layers behind the others, or for these layers alone.
LISTED, OWN = ("layer_types", "compress_ratios"), "mtp_layer_types"


def draft_groups(fields: Fields, groups: Iterable[LayerGroup]) -> tuple[tuple[LayerGroup, ...], tuple[NotRead, ...]]:
    """The groups of the layers that draft tokens, and a note where a file does not say what they do.

    They are made by the class of the other layers, and rotate as those of their type do (`MtpModel` of transformers
    5.23, which shares the rotation of the model).
    """
    if not fields.states(COUNT):
        return (), ()
    count = fields.integer(COUNT, 0, MOST_LAYERS)
    of_layers = [group for group in groups if group.layers and group.attention != "cross_attention"]
    first = 1 + max((max(group.layers) for group in of_layers), default=-1)
    drafts: dict[int, list[int]] = {}
    for number, attention in enumerate(_types(fields, of_layers, first, count)):
        found = [index for index, group in enumerate(of_layers) if group.attention == attention]
        if len(found) != 1:
            key = fields.require(COUNT)
            return (), (NotRead(f"{key.key} = {count}: the file does not say what these layers do with positions"),)
        drafts.setdefault(found[0], []).append(first + number)
    return tuple(replace(of_layers[at], part=DRAFT, layers=tuple(layers)) for at, layers in drafts.items()), ()


def _types(fields: Fields, groups: list[LayerGroup], first: int, count: int) -> list[str]:
    """Return the attention type of each draft layer; all "" where the file does not state every one."""
    own = fields.get(OWN, listed=False)
    every = own.value if own is not None and isinstance(own.value, tuple) else ()
    for name in LISTED:
        listed = fields.get(name, listed=False)
        if not every and listed is not None and isinstance(listed.value, tuple):
            every = listed.value[first:]
    if not every and len({group.attention for group in groups}) == 1:
        every = (groups[0].attention,) * count
    words = [BY_COMPRESS_RATIO.get(one, one) for one in every[:count]]
    types = [OLDER_NAMES.get(one, one) for one in words if isinstance(one, str)]
    return types if len(types) == count else [""] * count
