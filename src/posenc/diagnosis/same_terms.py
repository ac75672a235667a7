"""Two models in the same terms before they are compared: what a GGUF file writes otherwise,
and lengths beyond training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from posenc.diagnosis.rotation.usage import RotationUsage, rope_in_head
from posenc.doors import Encoding, Rotates
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import pair_rotation
from posenc.turn import PairLayout

#: How far numbers of a GGUF file may be off, of themselves: it holds float32, formed in float32.
FLOAT32 = 1e-6
REORDERED = (
    "llama.cpp rotates adjacent pairs here, and its converter reorders the rows of queries and keys for that: "
    "this is no difference unless a file was made without it"
)


def is_gguf(model: ModelPositions) -> bool:
    """Whether a model was read from a GGUF file."""
    return any(value.name == "rope.freq_base" for group in model.groups for value in group.values)


def as_converted(gguf: ModelPositions, other: ModelPositions) -> tuple[ModelPositions, tuple[str, ...]]:
    """The model of a GGUF file in terms of the config that it was converted from, and what was taken for granted.

    Divisors and factors stand there in float32, and rows of adjacent pairs were reordered from halves.
    """
    rotations = {layer: group.rotation for group in other.groups for layer in group.layers if group.part == "text"}
    notes: dict[str, None] = {}

    def converted(record: Encoding, group: LayerGroup) -> Encoding:
        expected = rotations.get(group.layers[0]) if group.layers else None
        if not isinstance(record, Rotates) or expected is None:
            return record
        in_head, theirs = rope_in_head(record), rope_in_head(expected)
        if in_head is None or theirs is None or not isinstance(in_head.rope, RoPE) or not isinstance(theirs.rope, RoPE):
            return record
        if (in_head.rope.pairing, theirs.rope.pairing) == ("adjacent", "halves"):
            notes[REORDERED] = None
            in_head = in_head._replace(rope=replace(in_head.rope, pairing="halves"))
        changed = in_head.record() or record
        return expected if _close(changed, expected) else changed

    return _with_records(gguf, converted), tuple(notes)


def in_layout(model: ModelPositions, layout: PairLayout | None) -> ModelPositions:
    """The model with this layout of pairs in its text; as it is for None."""

    def paired(record: Encoding, group: LayerGroup) -> Encoding:
        usage = (
            RotationUsage(record) if isinstance(record, Rotates) and group.part in ("text", *model.parts[:1]) else None
        )
        changed = None if usage is None else usage.with_rope(pairing=layout)
        return record if changed is None else changed.record

    return model if layout is None else _with_records(model, paired)


def served_longer(model: ModelPositions, length: int) -> ModelPositions:
    """The model at a longer sequence than it was trained with, where dynamic NTK has scaled its base."""

    def longer(record: Encoding, group: LayerGroup) -> Encoding:
        usage = RotationUsage(record) if isinstance(record, Rotates) else None
        changed = usage.with_scaling(length=length) if usage and isinstance(usage.scaling, DynamicNTK) else None
        return record if changed is None else changed.record

    return _with_records(model, longer)


def longest_trained(*models: ModelPositions) -> int | None:
    """The longest trained length of dynamic NTK in these models; None where none has it."""
    records = (record for model in models for group in model.groups for record in group.encodings)
    scalings = (head.rope.scaling for record in records if (head := rope_in_head(record)) is not None)
    lengths = [scaling.original for scaling in scalings if isinstance(scaling, DynamicNTK)]
    return max(lengths, default=None)


def _with_records(model: ModelPositions, change: Callable[[Encoding, LayerGroup], Encoding]) -> ModelPositions:
    groups = (
        replace(group, encodings=tuple(change(record, group) for record in group.encodings)) for group in model.groups
    )
    return replace(model, groups=tuple(groups))


def _close(record: Encoding, other: Encoding) -> bool:
    """Whether two rotations are the same up to float32."""
    one, two = pair_rotation(record), pair_rotation(other)
    if one is None or two is None or (one.dim, one.first, one.second) != (two.dim, two.first, two.second):
        return False
    frequencies = np.allclose(one.radians(), two.radians(), rtol=FLOAT32, atol=0.0)
    return bool(frequencies and abs(one.factor - two.factor) <= FLOAT32 * two.factor)
