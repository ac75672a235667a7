"""Positions of patches in vision towers: a rule for each habit of the classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.log_cpb import LogCPB
from posenc.encodings.biases.window_bias import WindowBias
from posenc.encodings.scores.decomposed import Decomposed
from posenc.models.config.fields import Fields
from posenc.models.model_positions import LayerGroup
from posenc.models.patch_positions import PatchPositions

#: The positions of the patches of a group; None where its encodings take no patches.
PatchRule = Callable[[Fields, LayerGroup], PatchPositions | None]


def patches_of_table(fields: Fields, group: LayerGroup) -> PatchPositions | None:
    """Default rule: rows and columns of the grid or window of the group's own table or bias."""
    for encoding in group.encodings:
        if isinstance(encoding, GridLearned) and len(encoding.sizes) == 2:
            return PatchPositions(front=encoding.prefix, sizes=None if group.resizing else encoding.sizes)
        if isinstance(encoding, WindowBias) and len(encoding.window) == 2:
            return PatchPositions(front=int(encoding.class_token), sizes=encoding.window)
        if isinstance(encoding, Decomposed) and len(encoding.size) == 2:
            return PatchPositions(sizes=encoding.size)
        if isinstance(encoding, LogCPB) and len(encoding.window) == 2:
            return PatchPositions()
    return None


def always(patches: PatchPositions) -> PatchRule:
    """Make a rule that gives `patches` to every group with an encoding."""
    return lambda fields, group: patches if group.encodings else None


def where_rotated(patches: PatchPositions, table: PatchRule = patches_of_table) -> PatchRule:
    """Make a rule that gives `patches` to groups that rotate, and follows the rule `table` in all others."""
    return lambda fields, group: patches if group.rotary_encoding is not None else table(fields, group)


def in_squares(patches: PatchPositions, table: PatchRule = patches_of_table) -> PatchRule:
    """As `where_rotated`, with patches in squares of spatial_merge_size × spatial_merge_size, one after another."""

    def rule(fields: Fields, group: LayerGroup) -> PatchPositions | None:
        found = where_rotated(patches, table)(fields, group)
        if found is None:
            return None
        side = fields.integer_or("spatial_merge_size", 2, 1, 1 << 10)
        return replace(found, merge=side)

    return rule


def without_front(fields: Fields, group: LayerGroup) -> PatchPositions | None:
    """Rule for a table whose rows in front of the patches are never read."""
    found = patches_of_table(fields, group)
    return found and replace(found, front=0)


def by_share(fields: Fields, group: LayerGroup) -> PatchPositions | None:
    """Rule for a table that an image of another grid reads at each patch's fraction of height and width."""
    found = patches_of_table(fields, group)
    return found and replace(found, shared=True)


def on_transposed_table(fields: Fields, group: LayerGroup) -> PatchPositions | None:
    """Muse Spark: the table is read as if height and width were exchanged."""
    found = patches_of_table(fields, group)
    return found and replace(found, transposed=True)


def numbered_before_class(fields: Fields, group: LayerGroup) -> PatchPositions | None:
    """Llama 4: the number of a patch, row after row, and behind them that of the class token."""
    side = next((math.isqrt(each.length - 1) for each in group.encodings if isinstance(each, Learned)), 0)
    return PatchPositions("number", behind=1, sizes=(side, side)) if side else None


def stretched_to_window(fields: Fields, group: LayerGroup) -> PatchPositions | None:
    """SAM 3: positions within a window, and over the whole image stretched to the width of a window."""
    if group.rotary_encoding is None:
        return patches_of_table(fields, group)
    window = fields.integer("window_size", 1, 1 << 12)
    if group.attention == "window_attention":
        return PatchPositions("wh", sizes=(window, window))
    return PatchPositions("wh", span=float(window))
