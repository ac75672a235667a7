"""Vision towers whose layers know distances along rows and columns: Swin, BEiT and SAM with their kin."""

from __future__ import annotations

from collections.abc import Callable

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.resize_table import Resizing
from posenc.encodings.biases.log_cpb import LogCPB
from posenc.encodings.biases.window_bias import WindowBias
from posenc.encodings.scores.decomposed import Decomposed
from posenc.models.config.added_tables import BICUBIC, grid_sides, side_length
from posenc.models.config.fields import Fields, wrong
from posenc.models.config.layer_type_rules import MOST_LAYERS, num_hidden_layers
from posenc.models.config.model_type import Groups
from posenc.models.model_positions import LayerGroup

#: The most stages of a tower.
MOST_STAGES = 64
SHIFTED_WINDOWS = "positions are rows and columns within a window; every second layer shifts its windows by half of one"
COSINE_LOGITS = "logits are cosines times a learned factor, in place of products times 1/√d"
SHARED = "all layers share one table"
WITHIN_WINDOWS = "positions are rows and columns within a window; windows are not shifted"


def beit(fields: Fields) -> Groups:
    """BEiT: a bias by row and column distance, with rows of its own for the class token; a learned table if stated."""
    sides = grid_sides(fields)
    groups: list[LayerGroup] = []
    if fields.flag("use_absolute_position_embeddings"):
        table = GridLearned(fields.integer("hidden_size"), sides, prefix=1)
        groups.append(LayerGroup("vision", "embedding", (), (table,), values=fields.values, resizing=BICUBIC))
    own, shared = (fields.flag(f"use_{word}relative_position_bias") for word in ("", "shared_"))
    heads, layers = fields.integer("num_attention_heads"), tuple(range(num_hidden_layers(fields)))
    biases = (WindowBias(heads, sides, class_token=True),) if own or shared else ()
    notes = (SHARED,) if shared else ()
    groups.append(LayerGroup("vision", "full_attention", layers, biases, values=fields.values, notes=notes))
    return tuple(groups)


def sam(fields: Fields, resizing: Resizing | None = None) -> Groups:
    """SAM, as ViTDet: a learned vector for every patch, and distances scored along rows and columns of each window."""
    side, count = grid_sides(fields, square=True)[0], num_hidden_layers(fields)
    groups: list[LayerGroup] = []
    if fields.flag("use_abs_pos"):
        table, values = GridLearned(fields.integer("hidden_size"), (side, side)), fields.values
        groups.append(LayerGroup("vision", "embedding", (), (table,), values=values, resizing=resizing))
    window, scored = fields.integer("window_size", 0, 1 << 12), fields.flag("use_rel_pos")
    whole = _whole_layers(fields, count) if window else frozenset(range(count))
    width = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    for attention, extent, chosen in (("full_attention", side, True), ("window_attention", window, False)):
        layers = tuple(layer for layer in range(count) if (layer in whole) is chosen)
        encodings: tuple[Encoding, ...] = (Decomposed(width, (extent, extent)),) if scored and layers else ()
        notes, values = () if chosen else (WITHIN_WINDOWS,), fields.values
        if layers:
            groups.append(LayerGroup("vision", attention, layers, encodings, values=values, notes=notes))
    return tuple(groups)


def _whole_layers(fields: Fields, count: int) -> frozenset[int]:
    """The layers whose patches see the whole image."""
    listed = fields.require("global_attn_indexes")
    if not isinstance(listed.value, tuple):
        raise TypeError(wrong(listed.key, "must list layers", listed.value))
    return frozenset(validation.integer(listed.key, layer, 0, count - 1) for layer in listed.value)


def swin_without_table(fields: Fields) -> Groups:
    """Kin of Swin: its biases alone; refuse use_absolute_embeddings, whose table has a class token row Swin lacks."""
    if fields.flag("use_absolute_embeddings"):
        raise ValueError(
            f"{fields.where}use_absolute_embeddings must be false to be read; got True, a table with a row for a class "
            "token that these models have not. Compare it by hand."
        )
    return swin(fields)


def swin(fields: Fields) -> Groups:
    """Swin: a bias table by distance within a window, in each stage for that stage's number of heads."""

    def encoding(stage: int, heads: int) -> Encoding:
        return WindowBias(heads, (side_length(fields, "window_size"),) * 2)

    return _stages(fields, encoding, SHIFTED_WINDOWS)


def swinv2(fields: Fields) -> Groups:
    """Swin v2: biases that a network computes from logarithms of distances (LogCPB), in place of Swin's table."""

    def encoding(stage: int, heads: int) -> Encoding:
        window = min(side_length(fields, "window_size"), grid_sides(fields)[0] >> stage)
        return LogCPB(heads, (_trained_window(fields, stage) or window,) * 2)

    return _stages(fields, encoding, SHIFTED_WINDOWS, COSINE_LOGITS)


def _trained_window(fields: Fields, stage: int) -> int:
    """The window that a stage was first trained with; 0 where the file does not say."""
    trained = fields.get("pretrained_window_sizes")
    if trained is None:
        return 0
    sizes = trained.value if isinstance(trained.value, tuple) else ()
    if stage >= len(sizes):
        raise ValueError(wrong(trained.key, "must have a number for each stage", trained.value))
    return validation.integer("pretrained_window_sizes", sizes[stage], 0, 1 << 12)


def _stages(fields: Fields, encoding_of: Callable[[int, int], Encoding], *notes: str) -> Groups:
    """A group for each stage of a tower, and a learned vector for every patch where the file says so."""
    heads, depths = _number_for_each_stage(fields, "num_attention_heads"), _number_for_each_stage(fields, "depths")
    if len(heads) != len(depths) or sum(depths) > MOST_LAYERS:
        raise ValueError(
            f"depths must have a number for each of {len(heads)} stages; got {depths}. Correct the config."
        )
    fields.mark_used("pretrained_window_sizes")
    groups: list[LayerGroup] = []
    if fields.flag("use_absolute_embeddings"):
        sides = grid_sides(fields)
        table, values = GridLearned(fields.integer("embed_dim"), sides), fields.values
        groups.append(LayerGroup("vision", "embedding", (), (table,), values=values, resizing=BICUBIC))
    first = 0
    for stage, (count, depth) in enumerate(zip(heads, depths, strict=True)):
        encoding = encoding_of(stage, count)
        layers, values = tuple(range(first, first + depth)), tuple(v for v in fields.values if v.name != "embed_dim")
        groups.append(LayerGroup("vision", "window_attention", layers, (encoding,), values=values, notes=notes))
        first += depth
    return tuple(groups)


def _number_for_each_stage(fields: Fields, name: str) -> tuple[int, ...]:
    """Read a field of a hierarchical model that lists one whole number for each stage."""
    value = fields.require(name)
    if not isinstance(value.value, tuple) or not 0 < len(value.value) <= MOST_STAGES:
        raise TypeError(wrong(value.key, "must list a number for each stage", value.value))
    return tuple(validation.integer(value.key, number, 1, 1 << 20) for number in value.value)
