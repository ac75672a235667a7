"""Positions that are meant for each layer: those of the request, and the one shift of a row that no logit can show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posenc.core.doors import AttentionBias
from posenc.diagnosis.rotation.rotation_usage import rope_in_head
from posenc.diagnosis.tracing.expected_positions import counted_within
from posenc.diagnosis.tracing.trace_records import TracedCall, TracedLayer, TraceRecord
from posenc.models.model_positions import LayerGroup, ModelPositions

#: Words that count documents.
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def group_of(model: ModelPositions, layer: TracedLayer) -> LayerGroup | None:
    """The group whose self-attention a traced layer is of; None where the model has none."""
    if layer.part not in model.parts:
        return None
    groups = [group for group in model.of(layer.part) if "cross" not in group.attention]
    if layer.layer is None:
        return next((group for group in groups if not group.layers), groups[0] if groups else None)
    return next((group for group in groups if layer.layer in group.layers), None)


def shift_is_seen(group: LayerGroup | None) -> bool:
    """Whether one shift of all positions of a row changes logits: not under plain rotations and distance biases."""
    if group is None or group.query_temperature is not None or group.offset:
        return True
    for encoding in group.encodings:
        head = rope_in_head(encoding)
        if isinstance(encoding, AttentionBias):
            continue
        if head is None:
            return group.rotary_encoding is not encoding
        if hasattr(head.rope.scaling, "length"):
            return True
    return False


class WantedPositions:
    """Positions that are meant in a trace."""

    def __init__(self, record: TraceRecord) -> None:
        self.record = record
        self.shifts: dict[tuple[int, str], np.ndarray] = {}
        for layer in record.layers:
            self._learn(layer)

    def _learn(self, layer: TracedLayer) -> None:
        """Read the shift of each row off the first call in which its keys were seen."""
        if layer.kind not in ("rotation", "rows"):
            return
        call = self.record.calls[layer.call]
        place = call.sequence, layer.module
        documents = int(call.documents.max()) + 1
        batch, axes = len(call.expected), call.expected.shape[-1]
        known = self.shifts.get(place)
        if known is None or known.shape[0] != batch:
            known = np.full((batch, documents, axes), np.nan)
        elif known.shape[1] < documents:
            known = np.concatenate([known, np.full((batch, documents - known.shape[1], axes), np.nan)], 1)
        self.shifts[place] = known
        if layer.kind == "rows" or self.record.stated.exact or shift_is_seen(group_of(self.record.model, layer)):
            known[:] = 0.0
            return
        gap = (layer.keys[:, 0] - call.expected) if layer.keys.size else (layer.queries[:, 0] - call.expected)
        of_token = call.documents[:, call.start :]
        for row, document in np.argwhere(np.isnan(known).any(-1)):
            own = np.flatnonzero((of_token[row] == document) & call.new[row] & ~np.isnan(gap[row]).any(-1))
            if own.size:
                known[row, document] = gap[row, own[0]]

    def of(self, layer: TracedLayer, used: np.ndarray) -> np.ndarray | None:
        """Positions that are meant for what a layer used, (batch, 1, n, axes); None where nothing is."""
        call = self.record.calls[layer.call]
        if layer.kind == "biases":
            return _spaced(call, used) if used.size else None
        if not used.size or used.shape[-1] != call.expected.shape[-1] or len(used) != len(call.expected):
            return None
        meant = call.expected + np.nan_to_num(self._shift(call, layer.module))
        group = group_of(self.record.model, layer)
        if layer.kind == "rows" and group is not None:
            meant = meant + group.offset
        result: np.ndarray = meant[:, None]
        return result

    def tokens(self, layer: TracedLayer) -> np.ndarray:
        """Mask of the tokens that are not padding: (batch, n) of this call, or (batch, start + n) for biases."""
        call = self.record.calls[layer.call]
        return call.real if layer.kind == "biases" else call.new

    def compared(self, layer: TracedLayer) -> np.ndarray:
        """Mask of the call's tokens whose positions in this layer were read and compared, (batch, n)."""
        call = self.record.calls[layer.call]
        read = np.ones(call.new.shape, dtype=bool)
        for used in (layer.queries, layer.keys):
            if used.size:
                meant = self.of(layer, used)
                read &= False if meant is None else ~np.isnan(used - meant).any((1, 3))[:, -call.count :]
        return read

    def _shift(self, call: TracedCall, module: str) -> np.ndarray:
        """Shift of every token that a call read, (batch, n, axes)."""
        shifts = self.shifts[call.sequence, module]
        rows = np.arange(len(shifts))[:, None]
        shift: np.ndarray = shifts[rows, call.documents[:, call.start :]]
        return shift

    def notes(self) -> Iterator[str]:
        """Yield a note on the first shift of a row's positions that no logit can show, if there is any."""
        for (_, module), shifts in self.shifts.items():
            shifted = np.argwhere(np.nan_to_num(shifts).any(-1))
            if shifted.size:
                row, document = (int(one) for one in shifted[0])
                by = "/".join(f"{number:+.6g}" for number in shifts[row, document])
                several = shifts.shape[1] > 1
                where = f"{_document(document)} of row {row}" if several else f"row {row}"
                hidden = "document whose tokens see no other" if several else "row"
                yield (
                    f"all positions of {where} are shifted by {by} in {module}, for example; under this encoding no "
                    f"logit shows one shift of a whole {hidden}"
                )
                return


def _document(number: int) -> str:
    """Name a document by its number, from 0, so that no other count can be meant."""
    if number < len(ORDINALS):
        return f"the {ORDINALS[number]} document"
    return f"document {number + 1} (the first is document 1)"


def _spaced(call: TracedCall, used: np.ndarray) -> np.ndarray:
    """Positions meant for all keys of a call, (batch, 1, total, 1), shifted to agree with the first real key."""
    meant = counted_within(call.documents, call.real).astype(np.float64)
    first = call.real.argmax(1)
    rows = np.arange(len(meant))
    meant += (used[rows, 0, first, 0] - meant[rows, first])[:, None]
    result: np.ndarray = meant[:, None, :, None]
    return result
