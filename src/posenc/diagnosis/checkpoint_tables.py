"""Learned tables of positions in a checkpoint, compared with what a config says of their rows and columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from posenc.core.doors import Encoding
from posenc.diagnosis.mistake import Finding
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.biases.window_bias import WindowBias
from posenc.encodings.scores.gated_bias import GatedBias
from posenc.models.formats.safetensors_header import read_header
from posenc.models.model_positions import LayerGroup

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


def table_shapes(path: Path) -> Shapes:
    """The shapes of the tables of a safetensors file by name, from its header alone."""
    endings = OF_POSITIONS + OF_DISTANCES + OF_WINDOWS
    entries = read_header(path).entries
    return {entry.name: entry.shape for entry in entries if entry.name.endswith(endings) and entry.shape}


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
