"""Whether a traced model used the positions, the amplitude and the window that its config and its request ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence, longest_with
from posenc.diagnosis.tracing.judge_visible import judge_visible
from posenc.diagnosis.tracing.tokens_compared import tokens_compared
from posenc.diagnosis.tracing.trace_causes import WrongPositions, cause_of
from posenc.diagnosis.tracing.trace_records import TracedLayer, TraceRecord
from posenc.diagnosis.tracing.wanted_positions import WantedPositions, group_of
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import layer_ranges
from posenc.models.pair_rotation import pair_rotation

#: How far an amplitude may be from the one that is meant, by the dtype of the vectors.
AMPLITUDE = {"float32": 1e-5, "float64": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}
SIDES = ("query", "key")
#: What carries a position, as a sentence says it.
DOES = {
    "rotation": "the {side} of token {token} is rotated to position",
    "rows": "token {token} reads a row of {module} for position",
    "biases": "the {side} of token {token} is biased as at position",
}


def judge_trace(record: TraceRecord) -> Diagnosis:
    """Compare everything that was traced with what is meant; findings name the first wrong position.

    Args:
        record: What `posenc.transformers.trace` recorded.

    Raises:
        ValueError: Nothing was recorded.
    """
    if not record.calls or not record.layers:
        raise ValueError(
            "record must hold a call of the model whose positions were seen; got none. Call the model inside "
            "`with trace(model)`."
        )
    wanted = WantedPositions(record)
    first = _first_wrong(record, wanted)
    findings = [first] if first else []
    findings += _unexplained(record) if not first else []
    findings += list(_amplitudes(record))
    visible, tokens = judge_visible(record), tokens_compared(record, wanted)
    findings += visible.findings
    not_compared = (*map(str, record.model.not_read), *dict.fromkeys(record.not_seen), *_not_traced(record))
    return Diagnosis(
        not findings,
        tuple(dict.fromkeys(findings)),
        notes=tuple(wanted.notes()),
        compared=tokens.compared(record, visible.compared),
        not_compared=(*not_compared, *tokens.not_compared, *visible.not_compared),
    )


def _first_wrong(record: TraceRecord, wanted: WantedPositions) -> Finding | None:
    """The first position that is not the one that is meant, with its cause."""
    for layer in record.layers:
        for side, used in zip(SIDES, (layer.queries, layer.keys), strict=True):
            meant = wanted.of(layer, used)
            if meant is None:
                continue
            wrong = wanted.tokens(layer)[:, None, :, None] & (np.abs(used - meant) > 1e-3)
            if wrong.any():
                return _finding(record, wanted, layer, side, wrong, used, meant)
    return None


def _finding(
    record: TraceRecord, wanted: WantedPositions, layer: TracedLayer, side: str,
    wrong: np.ndarray, used: np.ndarray, meant: np.ndarray,
) -> Finding:  # fmt: skip
    """Name the first wrong position of a layer."""
    row, group, token, _ = (int(one) for one in np.argwhere(wrong.any(1, keepdims=True))[0])
    group = int(np.flatnonzero(wrong[row, :, token].any(-1))[0])
    call = record.calls[layer.call]
    first = 0 if layer.kind == "biases" else call.start
    later = tuple(_later(record, wanted, layer, row))
    cause = cause_of(
        WrongPositions(record, call, row, first, used[row, group], meant[row, 0], _kept(record, layer, row), later)
    )
    heads = f", head group {group}" if used.shape[1] > 1 and not wrong[row, :, token].any(-1).all() else ""
    place = "" if layer.layer is None else f"{'' if layer.part == 'text' else layer.part + ' '}layer {layer.layer}, "
    does = DOES[layer.kind].format(side=side, token=first + token, module=layer.module)
    at = f"{does} {_shown(used[row, group, token])} where {_shown(meant[row, 0, token])} is meant."
    sentence = f"Call {call.number}, {place}row {row}{heads}: {at} {cause.sentence}"
    return Finding(cause.name, sentence, cause.fix, _where(record, wanted, layer))


def _shown(position: np.ndarray) -> str:
    """A position as text: one number, or its coordinates."""
    numbers = [f"{number:.10g}" for number in position]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def _kept(record: TraceRecord, layer: TracedLayer, row: int) -> int | None:
    """Least number of keys that any layer held in its cache before the call; None where that was not seen."""
    count = record.calls[layer.call].count
    held = [int(np.count_nonzero(one.slots[row] >= 0)) for one in record.of_call(layer.call) if one.slots is not None]
    return min(held) - count if held else None


def _later(record: TraceRecord, wanted: WantedPositions, layer: TracedLayer, row: int) -> Iterator[np.ndarray]:
    """Yield used minus wanted positions of the new queries, (n, axes), in each later call of this layer and row."""
    sequence = record.calls[layer.call].sequence
    for other in record.layers:
        call = record.calls[other.call]
        if (
            other.module != layer.module
            or not other.queries.size
            or call.sequence != sequence
            or call.number <= layer.call
        ):
            continue
        meant = wanted.of(other, other.queries)
        if meant is not None and row < len(meant):
            yield (other.queries - meant)[row, 0][call.new[row]]


def _where(record: TraceRecord, wanted: WantedPositions, first: TracedLayer) -> str:
    """Layers with a wrong position, where not all have one."""
    wrong, every = set(), set()
    for layer in record.layers:
        if layer.part != first.part or layer.layer is None or layer.kind != first.kind:
            continue
        every.add(layer.layer)
        for used in (layer.queries, layer.keys):
            meant = wanted.of(layer, used)
            new = wanted.tokens(layer)[:, None, :, None]
            if meant is not None and (new & (np.abs(used - meant) > 1e-3)).any():
                wrong.add(layer.layer)
    return "" if wrong == every else layer_ranges(tuple(sorted(wrong)))


def _unexplained(record: TraceRecord) -> list[Finding]:
    """Rotations that no position explains: another base, scaling or pairing, with its layers."""
    layers: dict[tuple[str, Finding], set[int | None]] = {}
    judged: set[tuple[str, int | None]] = set()
    for layer in record.layers:
        group, place = group_of(record.model, layer), (layer.part, layer.layer)
        if not layer.vectors or group is None or place in judged:
            continue
        expected = record.calls[layer.call].expected
        evidence = [("", one) for one in _evidence(layer, expected)]
        if not evidence:
            continue
        # Dynamic scalings take the length of the longest row, for every row of a batch.
        verdict = judge_rotations((group,), record.model, evidence, longest_with(expected))
        if verdict.agree:
            continue
        judged.add(place)
        known = verdict.findings or (
            Finding(
                "rotation", f"No position explains how vectors are rotated, from call {layer.call} on.",
                "Compare cos and sin of this layer with `posenc doctor`.",
            ),
        )  # fmt: skip
        for finding in known:
            layers.setdefault((layer.part, replace(finding, where="")), set()).add(layer.layer)
    return [replace(finding, where=_some_of(record, part, wrong)) for (part, finding), wrong in layers.items()]


def _evidence(layer: TracedLayer, expected: np.ndarray) -> Iterator[RotationEvidence]:
    """Vectors of a layer with their expected positions (batch, n, axes): of the whole batch, or else of each row."""
    placed = expected[..., 0] if expected.shape[-1] == 1 else expected
    if not np.isnan(placed).any() and (placed == placed[:1]).all():
        yield rotation_evidence({**layer.vectors, "positions": placed[0]}, "bhtd")
        return
    for number, row in enumerate(placed):
        real = ~np.isnan(row.reshape(len(row), -1)).any(-1)
        if real.any():
            own = {name: vectors[number : number + 1, :, real] for name, vectors in layer.vectors.items()}
            yield rotation_evidence({**own, "positions": row[real]}, "bhtd")


def _some_of(record: TraceRecord, part: str, wrong: set[int | None]) -> str:
    """Layers in words, where they are not all that rotate in their part."""
    every = {layer.layer for layer in record.layers if layer.part == part and layer.kind == "rotation"}
    return "" if wrong == every else layer_ranges(tuple(sorted(layer for layer in wrong if layer is not None)))


def _amplitudes(record: TraceRecord) -> Iterator[Finding]:
    """Finding on the first rotation that multiplies lengths by another attention factor than is meant."""
    for layer in record.layers:
        group = group_of(record.model, layer)
        pairs = None if group is None or group.rotary_encoding is None else pair_rotation(group.rotary_encoding)
        if pairs is None or layer.kind != "rotation" or layer.vectors:
            continue
        allowed = AMPLITUDE.get(layer.dtype, 2e-2)
        for side, factor in zip(SIDES, layer.amplitude, strict=True):
            if not np.isnan(factor) and abs(factor / pairs.factor - 1) > allowed:
                yield Finding(
                    "amplitude",
                    f"Call {layer.call}, layer {layer.layer}: rotation multiplies a {side} by {factor:.6g} where "
                    f"{pairs.factor:.6g} is meant.",
                    "Multiply cos and sin by the attention factor of the scaling, once.",
                )
                return


def _not_traced(record: TraceRecord) -> Iterator[str]:
    """Layers that are to rotate and in which no rotation was seen."""
    for part in record.model.parts:
        ran = {layer.layer for layer in record.layers if layer.part == part and layer.layer is not None}
        seen = {layer.layer for layer in record.layers if layer.part == part and layer.kind == "rotation"}
        groups = [group for group in record.model.of(part) if group.rotary_encoding and "cross" not in group.attention]
        missing = {layer for group in groups for layer in group.layers} - seen
        if ran and missing:
            yield f"rotation of {part}, {layer_ranges(tuple(sorted(missing)))}: it was not seen"
        elif groups and missing and not any(f"of {part}:" in note for note in record.not_seen):
            yield f"{part}: it did not run; give the model its inputs"
        yield from _no_carrier(record, part)


def _no_carrier(record: TraceRecord, part: str) -> Iterator[str]:
    """Biases, scores and tables of a part of which the trace saw nothing."""
    kinds = {layer.kind for layer in record.layers if layer.part == part}
    encodings = dict.fromkeys(encoding for group in record.model.of(part) for encoding in group.encodings)
    for encoding in encodings:
        name = type(encoding).__name__
        if isinstance(encoding, AttentionBias | AttentionScore) and "biases" not in kinds:
            yield f"{name} of {part}: a trace does not read it; posenc.transformers.capture does"
        elif isinstance(encoding, AdditiveEncoding) and "rows" not in kinds:
            yield f"{name} of {part}: no row of it was seen"
