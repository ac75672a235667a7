"""The rotations of a model as plain numbers, for formats that have keys for one of them and little else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from posenc.compose import Partial
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Scaling
from posenc.models.model_positions import LayerGroup, ModelPositions


@dataclass(frozen=True)
class SingleRotation:
    """One group's rotation: `width` of `dim` channels turn, from `start` on."""

    group: LayerGroup
    base: float
    dim: int
    width: int
    start: int
    pairing: Literal["adjacent", "halves"]
    scaling: Scaling | None


def single_rotation(group: LayerGroup, form: str) -> SingleRotation | None:
    """The one rotation of a group, None for layers without one; ValueError for what the format has no words for."""
    if group.offset or group.logit_factor != 1.0 or group.query_temperature is not None or len(group.encodings) > 1:
        raise ValueError(f"positions must be a plain rotation to be written as {form}; got {group.encodings!r:.100} and more. It has no keys for that.")  # fmt: skip
    if not group.encodings:
        return None
    record = group.encodings[0]
    inner = record.encoding if isinstance(record, Partial) else record
    if not isinstance(inner, RoPE):
        raise ValueError(
            f"positions must be a plain rotation to be written as {form}; got {record!r:.100}. It has no keys for that."
        )
    start = record.start if isinstance(record, Partial) else 0
    dim = record.dim if isinstance(record, Partial) else inner.dim
    return SingleRotation(group, inner.base, dim, inner.dim, start, inner.pairing, inner.scaling)


def only(positions: ModelPositions, form: str) -> SingleRotation:
    """The rotation that all layers share."""
    found = [single_rotation(group, form) for group in positions.groups]
    if len(found) != 1 or found[0] is None:
        raise ValueError(
            f"positions must be one rotation for all layers to be written as {form}; got {len(found)} groups of layers. It has no keys "
            "for that."
        )
    return found[0]


def layers_of(positions: ModelPositions) -> int:
    """How many layers there are."""
    return 1 + max(layer for group in positions.groups for layer in group.layers)
