"""Learned tables of positions in a checkpoint, held against what a config says of them: their rows and channels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from posenc.diagnosis.search import Finding
from posenc.doors import Encoding
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.biases.window_bias import WindowBias
from posenc.encodings.scores.gated_bias import GatedBias
from posenc.models.formats.safetensors_header import read_header
from posenc.models.model_positions import LayerGroup

#: How tensors of a table end, by what reads them.
ROWS = (
    "wpe.weight", "position_embeddings.weight", "embed_positions.weight", "position_embedding.weight", "position_embeddings",
    "pos_embed.weight", "positional_embedding_vlm", "position_embedding_table.weight",
)  # fmt: skip
DISTANCES = ("relative_attention_bias.weight", "rel_attn_embed.weight")
WINDOWS = ("relative_position_bias_table",)
#: Words in names that say of which part of a model a tensor is.
PARTS = ("encoder", "decoder")
Shapes = dict[str, tuple[int, ...]]


def tables(path: Path) -> Shapes:
    """The tables of a safetensors file by name, from its header alone."""
    ends = ROWS + DISTANCES + WINDOWS
    return {entry.name: entry.shape for entry in read_header(path).entries if entry.name.endswith(ends) and entry.shape}


def compared(groups: tuple[LayerGroup, ...], found: Shapes) -> tuple[Finding, ...] | None:
    """What differs, each once; None where the config says nothing of any of these tables."""
    findings: list[Finding] = []
    seen = False
    for group in groups:
        for record in group.encodings:
            for name, shape in _own(group, record, found):
                seen = True
                findings += _of_table(name, shape, _meant(record))
    return tuple(dict.fromkeys(findings)) if seen else None


def _own(group: LayerGroup, record: Encoding, found: Shapes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The tables that a record may be of: of its kind, and of its part where their names say one."""
    kinds: dict[type, tuple[str, ...]] = {
        Learned: ROWS,
        GridLearned: ROWS,
        T5Bias: DISTANCES,
        GatedBias: DISTANCES,
        WindowBias: WINDOWS,
    }
    ends = kinds.get(type(record), ())
    for name, shape in found.items():
        parts = [part for part in PARTS if part in name.split(".")]
        staged = isinstance(record, WindowBias) and shape[-1] != record.heads  # of another stage
        if (
            ends
            and name.endswith(ends)
            and not staged
            and (group.part not in PARTS or not parts or group.part in parts)
        ):
            yield name, shape


def _meant(record: Encoding) -> tuple[int, int]:
    inner = record.encoding if isinstance(record, GatedBias) else record
    rows, width = inner.shapes["table"]
    return rows, width


def _of_table(name: str, shape: tuple[int, ...], meant: tuple[int, int]) -> Iterator[Finding]:
    rows, width = math.prod(shape[:-1]), shape[-1]
    if rows != meant[0]:
        yield Finding(
            "rows of a table",
            f"{name} has {rows} rows where {meant[0]} are meant.",
            "Load the checkpoint that the config is of, or resize the table: posenc.models.fitted_table, posenc.resize_table.",
        )
    if width != meant[1]:
        yield Finding(
            "width of a table",
            f"{name} has {width} columns where {meant[1]} are meant.",
            "Load the checkpoint that the config is of.",
        )
