"""A model in other terms before it is compared: another layout of pairs, and lengths beyond training."""

from __future__ import annotations

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.rotation.usage import RotationUsage, rope_in_head
from posenc.frequencies import DynamicNTK
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.reordered_rows import with_encodings


def in_layout(model: ModelPositions, layout: PairLayout | None) -> ModelPositions:
    """The model with this layout of pairs in its text; as it is for None."""

    def paired(encoding: Encoding, group: LayerGroup) -> Encoding:
        usage = (
            RotationUsage(encoding)
            if isinstance(encoding, RotaryEncoding) and group.part in ("text", *model.parts[:1])
            else None
        )
        changed = None if usage is None else usage.with_rope(pairing=layout)
        return encoding if changed is None else changed.encoding

    return model if layout is None else with_encodings(model, paired)


def served_longer(model: ModelPositions, length: int) -> ModelPositions:
    """The model at a longer sequence than it was trained with, where dynamic NTK has scaled its base."""

    def longer(encoding: Encoding, group: LayerGroup) -> Encoding:
        usage = RotationUsage(encoding) if isinstance(encoding, RotaryEncoding) else None
        changed = usage.with_scaling(length=length) if usage and isinstance(usage.scaling, DynamicNTK) else None
        return encoding if changed is None else changed.encoding

    return with_encodings(model, longer)


def longest_trained(*models: ModelPositions) -> int | None:
    """The longest trained length of dynamic NTK in these models; None where none has it."""
    encodings = (encoding for model in models for group in model.groups for encoding in group.encodings)
    scalings = (head.rope.scaling for encoding in encodings if (head := rope_in_head(encoding)) is not None)
    lengths = [scaling.original for scaling in scalings if isinstance(scaling, DynamicNTK)]
    return max(lengths, default=None)
