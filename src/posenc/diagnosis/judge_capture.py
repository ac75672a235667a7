"""Whether a model that was run did with positions what its config says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core.doors import AttentionBias
from posenc.diagnosis.bias.judge_biases import judge_biases, other_sizes
from posenc.diagnosis.judge_attention import judge_attention
from posenc.diagnosis.layers_after_tables import with_layers
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.model_capture import Capture, Recorded, part_in
from posenc.diagnosis.named_arrays import NamedArray, on_host
from posenc.diagnosis.own_config import built_otherwise, not_finite_vectors, with_built
from posenc.diagnosis.placed_media import MEDIA, UnplacedError, placed_patches, placed_tokens
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.judge_rotations import agrees, judge_rotations
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.encodings.adds.learned import Learned
from posenc.models.model_positions import LayerGroup, ModelPositions, layer_ranges

ONE_KEY = "a query that sees one key shows no bias: give capture more tokens"
ROTATED_BESIDES = Finding(
    "rotated besides", "Queries and keys are rotated, in a model that has positions of another kind.",
    "Leave the rotation out.",
)  # fmt: skip


def judge_capture(
    model: ModelPositions, captured: Capture, length: int | None = None, config: Mapping[str, Any] | None = None
) -> Diagnosis:
    """Compare every rotation, bias and table that was recorded, and what attention did.

    Args:
        model: What is meant.
        captured: The record.
        length: The length that is served; that of the record if None.
        config: What is meant as plain data, for what decides whether later keys are hidden; the record's own if None.

    Raises:
        ValueError: The config says nothing about them.
    """
    meant = config or captured.config
    built = built_otherwise(model, meant, captured, lambda own, said: _verdicts(own, captured, length, said))
    verdicts = _verdicts(model, captured, length, meant, search=not built)
    if not verdicts:
        raise ValueError(
            "expected must describe what was captured, rotations, biases or tables of positions; got "
            f"{model.model_type}. Give the config of this model."
        )
    merged = with_built(merged_diagnosis(verdicts), built)
    missing = (*_not_placed(model, captured, meant), *_not_traced(model, captured))
    if missing:
        merged = replace(merged, looked_at=tuple(name for name in merged.looked_at if name != "other layers"))
    return replace(merged, not_compared=(*map(str, model.not_read), *_not_run(model, captured), *missing))


def _verdicts(
    model: ModelPositions, captured: Capture, length: int | None, config: Mapping[str, Any], search: bool = True
) -> list[Diagnosis]:
    """Compare everything that was recorded; without a search, differences of rotations stay unexplained."""
    attention = judge_attention(with_layers(model, captured), captured, config)
    rotations = list(_rotations(model, captured, length, config, search))
    verdicts = [*rotations, *_biases(model, captured), *_rows(model, captured), *([attention] if attention else [])]
    return [*verdicts, *not_finite_vectors(captured, verdicts)]


def _rotations(
    model: ModelPositions, captured: Capture, length: int | None, config: Mapping[str, Any], search: bool
) -> Iterator[Diagnosis]:
    """Compare the rotation of each layer; findings name the layers that have them, where not all do."""
    verdicts: list[tuple[int | None, Diagnosis]] = []
    unexplained: set[tuple[LayerGroup, ...]] = set()  # searched once for all layers alike, as a search takes seconds
    for recorded in captured.rotations:
        groups = _groups(model, captured, recorded)
        every_row = list(_evidence(recorded, captured, groups, config))
        # Scalings that depend on the length take that of the longest row, for every row of a batch.
        served = length or max((evidence.longest() or 0 for evidence in every_row), default=0) or None
        for evidence in every_row:
            if groups in unexplained and not agrees(groups, model, evidence, served):
                continue
            verdict = _of_layer(groups, model, evidence, served, search)
            verdicts.append((recorded.layer, verdict))
            if not verdict.explained:
                unexplained.add(groups)
    layers_of: dict[Finding, set[int]] = {}
    for layer, verdict in verdicts:
        for finding in verdict.findings:
            layers_of.setdefault(finding, set()).update(() if layer is None else (layer,))
    every = {layer for layer, _ in verdicts if layer is not None}
    for _, verdict in verdicts:
        named = (
            finding if layers_of[finding] in (every, set()) else replace(finding, where=_layers(layers_of[finding]))
            for finding in verdict.findings
        )
        yield replace(verdict, findings=tuple(named))


def _layers(numbers: Iterable[int]) -> str:
    return layer_ranges(tuple(sorted(numbers)))


def _groups(model: ModelPositions, captured: Capture, recorded: Recorded) -> tuple[LayerGroup, ...]:
    """The groups whose self-attention a record belongs to; none where the model has no such part."""
    part = part_in(model.parts, recorded.part)
    every = () if part is None else tuple(group for group in model.of(part) if "cross" not in group.attention)
    of_layer = tuple(group for group in every if recorded.layer is None or recorded.layer in group.layers)
    return of_layer or every


def _evidence(
    recorded: Recorded, captured: Capture, groups: tuple[LayerGroup, ...], config: Mapping[str, Any]
) -> Iterator[RotationEvidence]:
    """Evidence of a record: of the whole batch, or of each row without padding; none where positions are unknown."""
    arrays = {name: on_host(array) for name, array in recorded.arrays.items()}
    batch, count = _tokens(arrays, recorded.layout)
    try:
        placed = _placed(recorded, captured, groups, config, count) if groups else None
    except UnplacedError:
        return
    if placed is None:
        return
    if captured.padded is None or recorded.layout != "bhtd" or recorded.part in MEDIA:
        positions = placed if len(placed) == batch > 1 else placed[0]
        yield rotation_evidence({**arrays, "positions": positions}, recorded.layout)
        return
    for number, kept in enumerate(map(np.flatnonzero, ~captured.padded)):
        if kept.size:
            rows = slice(kept[0], kept[-1] + 1)
            own = {
                name: NamedArray(array.values[number : number + 1, :, rows], array.dtype)
                for name, array in arrays.items()
            }
            of_row = placed[number, rows] if len(placed) == batch else placed[0, : kept[-1] + 1 - kept[0]]
            yield rotation_evidence({**own, "positions": of_row}, recorded.layout)


def _placed(
    recorded: Recorded, captured: Capture, groups: tuple[LayerGroup, ...], config: Mapping[str, Any], count: int
) -> np.ndarray:
    """Positions (batch, n) or (batch, n, axes) that recorded tokens are to have; (1, ...) where all rows have the same.

    Raises:
        UnplacedError: They are those of images whose places are not known.
    """
    encoding = next((group.rotary_encoding for group in groups if group.rotary_encoding is not None), None)
    axes = 1 if encoding is None else encoding.axes
    placed = None
    if recorded.part in MEDIA and axes > 1:
        placed = placed_patches(config, captured.given, groups[0])
    elif recorded.part not in MEDIA:
        placed = placed_tokens(config, captured.given, axes)
    if placed is not None and placed.shape[1] == count:
        return placed
    if recorded.part in MEDIA and axes > 1:
        raise UnplacedError(f"positions of the patches of {recorded.part}: they are not as many as those of its grids")
    counted = np.arange(count)[None]
    return np.repeat(counted[..., None], axes, -1) if axes > 1 else counted


def _tokens(arrays: Mapping[str, NamedArray], layout: str | None) -> tuple[int, int]:
    """Rows of the batch and tokens of recorded vectors."""
    shape = next(iter(arrays.values())).values.shape
    return (shape[0] if len(shape) == 4 else 1), shape[1 if layout == "bthd" else -2]


def _of_layer(
    groups: tuple[LayerGroup, ...], model: ModelPositions, evidence: RotationEvidence, length: int | None, search: bool
) -> Diagnosis:
    """Compare one layer, which may be meant not to rotate although it has other encodings."""
    rotates = any(group.rotary_encoding for group in groups)
    if rotates and not search and not agrees(groups, model, evidence, length):
        return Diagnosis(False, compared=evidence.width(), looked_at=shown_by(*evidence.kinds()))
    if rotates or not any(group.encodings for group in groups):
        return judge_rotations(groups, model, [("", evidence)], length)
    if evidence.unchanged():
        return Diagnosis(True)
    return Diagnosis(False, (ROTATED_BESIDES,), compared=evidence.width())


def _not_run(model: ModelPositions, captured: Capture) -> Iterator[str]:
    """Parts of the model that did not run, and attention that was not measured."""
    if not captured.attention:
        yield "attention: the model calls no attention function of transformers; give its logits with their mask"
    recorded = [
        *(one.part for one in (*captured.rotations, *captured.biases)),
        *(one.part for one in captured.attention),
    ]
    ran = {part_in(model.parts, part) for part in recorded}
    for part in model.parts:
        if part not in ran and any(group.layers for group in model.of(part)) and ran - {None}:
            yield f"{part}: it did not run; give capture its inputs"


def _not_placed(model: ModelPositions, captured: Capture, config: Mapping[str, Any]) -> Iterator[str]:
    """Positions of images that are not known, once for each part."""
    of_parts = {recorded.part: recorded for recorded in captured.rotations}
    for recorded in of_parts.values():
        arrays = {name: on_host(array) for name, array in recorded.arrays.items()}
        groups = _groups(model, captured, recorded)
        try:
            if groups:
                _placed(recorded, captured, groups, config, _tokens(arrays, recorded.layout)[1])
        except UnplacedError as problem:
            yield f"{problem}; give q and q_rotated with their positions"


def _not_traced(model: ModelPositions, captured: Capture) -> Iterator[str]:
    """Layers that are to rotate, and whose rotation was not seen although their part ran."""
    seen = {(part_in(model.parts, one.part), one.layer) for one in captured.rotations}
    ran = {part_in(model.parts, one.part) for one in captured.attention}
    for part in model.parts:
        groups = [group for group in model.of(part) if group.rotary_encoding and "cross" not in group.attention]
        missing = {layer for group in groups for layer in group.layers} - {layer for one, layer in seen if one == part}
        if part in ran and missing:
            yield f"rotation of {part}, {_layers(missing)}: what reaches attention was not traced back to it"


def _biases(model: ModelPositions, captured: Capture) -> Iterator[Diagnosis]:
    for recorded in captured.biases:
        groups = model.of(recorded.part) if recorded.part in model.parts else model.groups
        biased = tuple(
            group for group in groups if any(isinstance(encoding, AttentionBias) for encoding in group.encodings)
        )
        if biased and min(on_host(recorded.arrays["bias"]).values.shape[-2:]) == 0:
            continue  # a step of padding alone
        if biased and on_host(recorded.arrays["bias"]).values.shape[-1] == 1:
            yield Diagnosis(True, notes=(ONE_KEY,))
        elif biased:
            other = other_sizes(biased, recorded.arrays)
            yield judge_biases(biased, recorded.arrays, is_model=True, in_model=True) if other is None else other


def _rows(model: ModelPositions, captured: Capture) -> Iterator[Diagnosis]:
    """Compare the rows of each learned table that tokens read with those meant: row `offset` + position."""
    looked_at = shown_by("rows that tokens read")
    for name, rows in captured.rows.items():
        group = _group_of(model, name)
        if group is None:
            continue
        every = np.atleast_2d(rows)
        padded = captured.padded
        if padded is not None and len(every) == 1 and padded.shape[1] == every.shape[1]:
            every = np.broadcast_to(every, padded.shape)  # one row of positions for the whole batch
        ids = captured.given.get("position_ids")
        stated = ids is not None and ids.shape[-1] == every.shape[-1] and ids.ndim == 2
        counted = np.broadcast_to(ids, every.shape) if stated and ids is not None else _counted(padded, every.shape)
        expected = group.offset + counted
        if padded is not None and padded.shape == every.shape:
            expected = np.where(padded, every, expected)  # what padding reads counts for nothing
        compared = f"rows {every.min()} to {every.max()} of {name}, read by {every.shape[1]} tokens"
        if np.all(every == expected):
            yield Diagnosis(True, compared=compared, looked_at=looked_at)
            continue
        yield Diagnosis(False, (_wrong_rows(name, every, expected),), compared=compared, looked_at=looked_at)


def _counted(padded: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """Positions of tokens (batch, n), counted from the first that is no padding."""
    if padded is None or padded.shape != shape:
        return np.broadcast_to(np.arange(shape[1]), shape)
    counted: np.ndarray = np.maximum(np.cumsum(~padded, 1) - 1, 0)
    return counted


def _group_of(model: ModelPositions, name: str) -> LayerGroup | None:
    """Group that reads this learned table: of the part that its name says, else the first with such a table."""
    groups = [group for group in model.groups if any(isinstance(encoding, Learned) for encoding in group.encodings)]
    of_part = [group for group in groups if group.part in name.split(".")]
    return next(iter(of_part or groups), None)


def _wrong_rows(name: str, rows: np.ndarray, expected: np.ndarray) -> Finding:
    wrong: Any = np.argwhere(rows != expected)[0]
    shifts = np.unique(rows - expected)
    if len(shifts) == 1:
        shift = int(shifts[0])
        sentence = f"Tokens read rows of {name} {abs(shift)} too {'high' if shift > 0 else 'low'}: the first row is "
        sentence += f"{expected[0, 0] + shift} where {expected[0, 0]} is meant."
        fix = f"Count positions from {expected[0, 0]}: rows below belong to padding, or to nothing."
        return Finding("offset of a table", sentence, fix)
    got, model = rows[tuple(wrong)], expected[tuple(wrong)]
    sentence = f"Token {wrong[1]} of batch row {wrong[0]} reads row {got} of {name} where {model} is meant."
    return Finding("rows that are read", sentence, "Look at the position_ids that reach the table.")


def judge_captures(model: ModelPositions, first: Capture, second: Capture, length: int | None = None) -> Diagnosis:
    """Compare two captures: judge each by the first one's config, and report what only one of them does."""
    one, other = (judge_capture(model, captured, length, first.config) for captured in (first, second))
    looked_at = tuple(name for name in one.looked_at if name in other.looked_at)
    not_compared = tuple(dict.fromkeys((*one.not_compared, *other.not_compared)))
    other = replace(other, looked_at=looked_at, not_compared=not_compared)
    if one.agree:
        return other
    alike = one.explained and set(one.findings) == set(other.findings)
    only = tuple(
        replace(finding, where=f"the first alone{finding.where and ', '}{finding.where}")
        for finding in one.findings
        if finding not in other.findings
    )
    new = tuple(finding for finding in other.findings if finding not in one.findings)
    note = f"the first differs from its own config: {'; '.join(finding.sentence for finding in one.findings)}"
    return replace(
        other, agree=alike, findings=(*new, *only), notes=(*other.notes, note), worst=one.worst + other.worst
    )
