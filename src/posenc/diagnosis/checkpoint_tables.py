"""Learned tables of positions in checkpoints: their shapes by a config, and whether one was resized from another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.attention_tensors import Checkpoint, checkpoint_of
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.model_source import ModelSource
from posenc.diagnosis.named_arrays import NamedArray, as_rounded
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.resize_table import Resizing
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.biases.window_bias import WindowBias
from posenc.encodings.scores.gated_bias import GatedBias
from posenc.models.checkpoints.position_table import read_table
from posenc.models.formats.safetensors_header import read_header
from posenc.models.model_positions import LayerGroup, ModelPositions

#: How the names of tables end, by what reads them.
OF_POSITIONS = (
    "wpe.weight", "position_embeddings.weight", "embed_positions.weight", "position_embedding.weight",
    "position_embeddings", "pos_embed.weight", "positional_embedding_vlm", "position_embedding_table.weight",
)  # fmt: skip
OF_DISTANCES = ("relative_attention_bias.weight", "rel_attn_embed.weight")
OF_WINDOWS = ("relative_position_bias_table",)
ENDINGS: dict[type, tuple[str, ...]] = {
    Learned: OF_POSITIONS,
    GridLearned: OF_POSITIONS,
    T5Bias: OF_DISTANCES,
    GatedBias: OF_DISTANCES,
    WindowBias: OF_WINDOWS,
}
#: Words in names that say which part of a model a tensor belongs to.
PARTS = frozenset({"encoder", "decoder"})
Shapes = dict[str, tuple[int, ...]]

#: How far a table may be off, of its largest number, that was resized in a type and rounded to it.
ROUNDED = {"float64": 2.0**-16, "float32": 2.0**-16, "float16": 2.0**-9, "bfloat16": 2.0**-6}
RULES = tuple(
    Resizing(method, antialias=antialias, align_corners=corners)
    for method in ("bicubic", "bilinear")
    for antialias, corners in ((False, False), (True, False), (False, True))
)
EXCHANGED = "height and width exchanged"


def table_shapes(tensors: Path | Mapping[str, Any]) -> Shapes:
    """Collect the shapes of position tables by name, from a safetensors header or from named tensors."""
    endings = OF_POSITIONS + OF_DISTANCES + OF_WINDOWS
    if isinstance(tensors, Path):
        shapes = {entry.name: entry.shape for entry in read_header(tensors).entries}
    else:
        shapes = {str(name): tuple(getattr(tensor, "shape", ())) for name, tensor in tensors.items()}
    return {name: shape for name, shape in shapes.items() if name.endswith(endings) and shape}


def compare_tables(groups: tuple[LayerGroup, ...], shapes: Shapes) -> tuple[Finding, ...] | None:
    """Findings on shapes that differ; None where the config says nothing of any of these tables."""
    pairs = [
        (name, shape, _expected_shape(encoding))
        for group in groups
        for encoding in group.encodings
        for name, shape in _tables_of(group, encoding, shapes)
    ]
    findings = dict.fromkeys(finding for pair in pairs for finding in _compare(*pair))
    return tuple(findings) if pairs else None


def _tables_of(group: LayerGroup, encoding: Encoding, shapes: Shapes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tables that an encoding may read: of its kind, and of its part where their names say one."""
    endings = ENDINGS.get(type(encoding), ())
    for name, shape in shapes.items():
        parts = PARTS & set(name.split("."))
        of_part = group.part not in PARTS or not parts or group.part in parts
        of_stage = not isinstance(encoding, WindowBias) or shape[-1] == encoding.heads
        if endings and name.endswith(endings) and of_part and of_stage:
            yield name, shape


def _expected_shape(encoding: Encoding) -> tuple[int, int]:
    inner = encoding.encoding if isinstance(encoding, GatedBias) else encoding
    rows, width = inner.shapes["table"]
    return rows, width


def _compare(name: str, shape: tuple[int, ...], expected: tuple[int, int]) -> Iterator[Finding]:
    rows, width = math.prod(shape[:-1]), shape[-1]
    load = "Load the checkpoint that belongs to the config"
    if rows != expected[0]:
        sentence = f"{name} has {rows} rows where {expected[0]} are meant."
        fix = f"{load}, or resize the table: posenc.models.fitted_table, posenc.resize_table."
        yield Finding("rows of a table", sentence, fix)
    if width != expected[1]:
        yield Finding("width of a table", f"{name} has {width} columns where {expected[1]} are meant.", f"{load}.")


class ResizedTable(NamedTuple):
    """Finding on a resized table, if any, and the second side's positions with the grid of the first."""

    finding: Finding | None
    compared: str
    positions: ModelPositions


class _Pair(NamedTuple):
    """Learned patch table of both sides, its name, the encodings that read it, and the rule that resizes it."""

    name: str
    one: np.ndarray
    other: NamedArray
    expected: GridLearned
    actual: GridLearned
    rule: Resizing


def compare_resized(first: ModelSource, second: ModelSource) -> ResizedTable | None:
    """Compare two learned tables; None where there is no such table, or no known resizing led to the second."""
    pair = _pair(first, second)
    if pair is None or not isinstance(second.positions, ModelPositions):
        return None
    sizes, new = pair.expected.sizes, pair.actual.sizes
    found = () if _fits(pair, _resized(pair, pair.rule, new)) else next(_mistakes(pair), None)
    if found is None:
        return None
    compared = f"{pair.name} of {_grid(new)} patches with that of {_grid(sizes)}, resized"
    encoding = replace(pair.actual, sizes=sizes)
    groups = tuple(
        replace(group, encodings=(encoding,)) if _grid_of(group) == pair.actual else group
        for group in second.positions.groups
    )
    return ResizedTable(found or None, compared, replace(second.positions, groups=groups))


def _mistakes(pair: _Pair) -> Iterator[Finding]:
    """Mistakes that make the second table of the first, the likeliest first."""
    old, new = pair.expected.sizes, pair.actual.sizes
    fix = f"Resize the table of {_grid(old)} patches once more: posenc.resize_table ({pair.rule})."
    where = f"{pair.name} has a row for each of {_grid(new)} patches"
    if _fits(pair, pair.one):
        yield Finding("table not resized", f"{where}, and holds the table of {_grid(old)} unchanged.", fix)
    for rows in _exchanged(pair):
        if _fits(pair, rows):
            sentence = f"{where}, and was resized with height and width swapped, to {_grid(new[::-1])}."
            yield Finding(EXCHANGED, sentence, fix)
    for rule in RULES:
        if _fits(pair, _resized(pair, rule, new)):
            sentence = f"{where}, and was resized otherwise ({rule}) than is meant ({pair.rule})."
            yield Finding("resizing", sentence, fix)


def _exchanged(pair: _Pair) -> Iterator[np.ndarray]:
    """Table resized with height and width swapped in the new grid, in the old one, or in the new one and back."""
    old, new, front = pair.expected.sizes, pair.actual.sizes, pair.expected.prefix
    yield _resized(pair, pair.rule, new[::-1])
    yield _resized(pair, pair.rule, new, old[::-1])
    right = _resized(pair, pair.rule, new[::-1])
    transposed = right[front:].reshape(*new[::-1], -1).swapaxes(0, 1).reshape(math.prod(new), -1)
    yield np.concatenate([right[:front], transposed])


def _resized(pair: _Pair, rule: Resizing, new: tuple[int, ...], old: tuple[int, ...] | None = None) -> np.ndarray:
    return np.asarray(rule.table(pair.one, old or pair.expected.sizes, new, prefix=pair.expected.prefix))


def _fits(pair: _Pair, rows: np.ndarray) -> bool:
    """Whether the second table holds these rows, up to the rounding of its type."""
    other = pair.other.values
    tolerance = ROUNDED[pair.other.dtype] * float(np.abs(other).max(initial=0.0))
    return rows.shape == other.shape and bool(np.all(np.abs(rows - other) <= tolerance))


def _pair(first: ModelSource, second: ModelSource) -> _Pair | None:
    """Learned patch table that both folders hold, for grids that differ; None where there is none."""
    if first.folder is None or second.folder is None:
        return None
    groups = [_group_of(side.positions) for side in (first, second)]
    checkpoints = [checkpoint_of(folder, None) for folder in (first.folder, second.folder)]
    if None in groups or None in checkpoints:
        return None
    (expected, actual), rule = map(_grid_of, groups), groups[0].resizing  # type: ignore[arg-type, union-attr]
    if expected is None or actual is None or rule is None or expected.sizes == actual.sizes:
        return None
    if (expected.dim, expected.prefix) != (actual.dim, actual.prefix):
        return None
    one, other = (
        _table(checkpoint, encoding)  # type: ignore[arg-type]
        for checkpoint, encoding in zip(checkpoints, (expected, actual), strict=True)
    )
    if one is None or other is None or one[0] != other[0]:
        return None
    rounded = as_rounded(NamedArray(other[1], "float32"))
    return _Pair(one[0], one[1], rounded, expected, actual, rule)


def _group_of(model: object) -> LayerGroup | None:
    """The only group that adds a learned patch table; None where there is none, or several."""
    groups = [group for group in getattr(model, "groups", ()) if _grid_of(group) is not None]
    return groups[0] if len(groups) == 1 else None


def _grid_of(group: LayerGroup) -> GridLearned | None:
    encodings = [encoding for encoding in group.encodings if isinstance(encoding, GridLearned)]
    return encodings[0] if len(encodings) == 1 == len(group.encodings) else None


def _table(checkpoint: Checkpoint, encoding: GridLearned) -> tuple[str, np.ndarray] | None:
    """The one tensor of a checkpoint, by its name, that has the shape of an encoding's table."""
    rows, width = encoding.shapes["table"]
    names = [
        name
        for name, tensor in checkpoint.tensors.items()
        if name.endswith(OF_POSITIONS) and tensor.shape[-1:] == (width,) and math.prod(tensor.shape[:-1]) == rows
    ]
    if len(names) != 1:
        return None
    values = read_table(checkpoint.tensors[names[0]].path, names[0])
    return names[0], np.asarray(values, np.float64).reshape(rows, width)


def _grid(sizes: tuple[int, ...]) -> str:
    return " by ".join(map(str, sizes))
