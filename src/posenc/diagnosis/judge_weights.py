"""The weights of two sides: a folder beside another one, or beside a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc.core.rotation import PairLayout
from posenc.diagnosis.attention_tensors import Checkpoint, checkpoint_of
from posenc.diagnosis.checkpoint_rows import HeadsStated, RowsCompared, compare_rows
from posenc.diagnosis.gguf_tensors import checkpoint_of_gguf
from posenc.diagnosis.model_source import ModelSource
from posenc.diagnosis.table_rows import compare_table_rows
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.models.checkpoints.head_shape import head_shapes, plain_head_shape
from posenc.models.config.converted_type import layout_of
from posenc.models.model_positions import ModelPositions


def compare_weights(first: ModelSource, second: ModelSource, *, resized: bool) -> RowsCompared | None:
    """Compare attention rows and learned tables of a folder and another, or a GGUF file; None without both weights."""
    one, other = weights_of(first), weights_of(second)
    if one is None or other is None or one.is_gguf or first.config is None:
        return None
    if not isinstance(first.positions, ModelPositions):
        return None
    rows = compare_rows(one, other, _heads(first.config, first.positions))
    findings, tables, left = compare_table_rows(
        one, other, same_weights=not rows.left, resized=resized or _grids(first) != _grids(second)
    )
    compared = (
        f"{rows.compared}, and {tables} learned {'table' if tables == 1 else 'tables'}" if tables else rows.compared
    )
    return rows._replace(findings=(*rows.findings, *findings), compared=compared, left=(*rows.left, *left))


def weights_of(side: ModelSource) -> Checkpoint | None:
    """The weights of a side; None where it has none."""
    if side.path is not None and side.path.suffix == ".gguf":
        found = checkpoint_of_gguf(side.path, layout_of_side(side))
        return found if any(".attn_" in name for name in found.tensors) else None
    return None if side.folder is None else checkpoint_of(side.folder, layout_of_side(side))


def _grids(side: ModelSource) -> list[tuple[int, ...]]:
    """Grid sizes of a side's learned patch tables."""
    groups = side.positions.groups if isinstance(side.positions, ModelPositions) else ()
    return [one.sizes for group in groups for one in group.encodings if isinstance(one, GridLearned)]


def _heads(config: Mapping[str, Any], positions: ModelPositions) -> HeadsStated:
    """Heads of each layer, and those of layers that do not rotate, by the counts in the config."""
    plain = plain_head_shape(config)
    try:
        shapes = head_shapes(config)
    except ValueError:  # its layers are no text, or do not all rotate alike
        shapes = ()
    by_head = any(encoding.door in ("biases", "scores") for group in positions.groups for encoding in group.encodings)
    return HeadsStated(shapes, plain, positions.model_type, by_head)


def layout_of_side(side: ModelSource) -> PairLayout | None:
    """Layout of pairs by the config of a side."""
    return layout_of(side.positions) if isinstance(side.positions, ModelPositions) else None
