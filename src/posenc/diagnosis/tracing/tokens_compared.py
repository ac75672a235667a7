"""Which tokens of a trace were compared: those whose position could be read in every place that carries positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.diagnosis.tracing.trace_records import TraceRecord, places_together
from posenc.diagnosis.tracing.wanted_positions import WantedPositions

KINDS = {"rotation": "rotations", "rows": "rows of tables", "biases": "distances of biases"}


class ComparedTokens(NamedTuple):
    """Number of tokens that were compared, and a line on those whose position could not be read."""

    tokens: int
    not_compared: tuple[str, ...]

    def compared(self, record: TraceRecord, visible: int) -> str:
        """Describe what was compared: tokens, calls, kinds of evidence and places.

        Args:
            record: The trace.
            visible: Number of layers in which the keys that queries see were compared.
        """
        seen = [layer for layer in record.layers if layer.kind != "none"]
        layers = {(layer.part, layer.layer) for layer in seen}
        what = " and ".join(words for kind, words in KINDS.items() if any(layer.kind == kind for layer in seen))
        masks = f", and what queries see in {_count(visible, 'layer')}" if visible else ""
        calls, places = _count(len(record.calls), "call"), _count(len(layers), "place")
        return f"positions of {_count(self.tokens, 'token')} in {calls}, by {what or 'nothing'} in {places}{masks}"


def tokens_compared(record: TraceRecord, wanted: WantedPositions) -> ComparedTokens:
    """Count the tokens whose meant position is known and was read in every place of their call that carries one."""
    meant = [call.new & ~np.isnan(call.expected).any(-1) for call in record.calls]
    read: dict[int, np.ndarray] = {}
    places: dict[str, None] = {}
    for layer in record.layers:
        if layer.kind != "none":
            own = wanted.compared(layer)
            read[layer.call] = read.get(layer.call, True) & own
            if (meant[layer.call] & ~own).any():
                places[layer.place] = None
    count = sum(int((meant[number] & own).sum()) for number, own in read.items())
    if not places:
        return ComparedTokens(count, ())
    number = next(number for number, own in read.items() if (meant[number] & ~own).any())
    row, token = np.argwhere(meant[number] & ~read[number])[0]
    left = sum(int((meant[number] & ~own).sum()) for number, own in read.items())
    which = f"positions of {_count(left, 'token')} in {places_together(list(places))}"
    first = f"from token {record.calls[number].start + token} of row {row} in call {number} on"
    return ComparedTokens(count, (f"{which}, {first}: the vectors show none",))


def _count(number: int, name: str) -> str:
    return f"{number} {name}" + ("s" if number != 1 else "")
