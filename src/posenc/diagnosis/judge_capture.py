"""Whether a model that was run did with positions what its config says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core.doors import AttentionBias
from posenc.diagnosis.bias.judge_biases import judge_biases
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.model_capture import Capture
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.encodings.adds.learned import Learned
from posenc.models.model_positions import LayerGroup, ModelPositions


def judge_capture(model: ModelPositions, captured: Capture, length: int | None = None) -> Diagnosis:
    """Compare every rotation, bias and table that was recorded.

    Raises:
        ValueError: The config says nothing about them.
    """
    verdicts = [*_rotations(model, captured, length), *_biases(model, captured), *_rows(model, captured)]
    if not verdicts:
        raise ValueError(
            "expected must describe what was captured, rotations, biases or tables of positions; got "
            f"{model.model_type}. Give the config of this model."
        )
    return replace(merged_diagnosis(verdicts), not_compared=tuple(map(str, model.not_read)))


def _rotations(model: ModelPositions, captured: Capture, length: int | None) -> Iterator[Diagnosis]:
    for recorded in captured.rotations:
        part = "text" if "text" in model.parts else model.parts[0]
        every = model.of(part)
        groups = tuple(group for group in every if recorded.layer is None or recorded.layer in group.layers)
        evidence = rotation_evidence(recorded.arrays, recorded.layout)
        yield judge_rotations(groups or every, model, [("", evidence)], length)


def _biases(model: ModelPositions, captured: Capture) -> Iterator[Diagnosis]:
    for recorded in captured.biases:
        groups = model.of(recorded.part) if recorded.part in model.parts else model.groups
        biased = tuple(
            group for group in groups if any(isinstance(encoding, AttentionBias) for encoding in group.encodings)
        )
        if biased:
            yield judge_biases(biased, recorded.arrays, is_model=True)


def _rows(model: ModelPositions, captured: Capture) -> Iterator[Diagnosis]:
    """Compare the rows of a learned table that tokens read: `offset` first, then each next one."""
    looked_at = shown_by("rows that tokens read")
    for name, rows in captured.rows.items():
        group = _group_of(model, name)
        if group is None:
            continue
        every = np.atleast_2d(rows)
        expected = group.offset + np.arange(every.shape[1])
        compared = f"rows {every.min()} to {every.max()} of {name}, read by {every.shape[1]} tokens"
        if np.all(every == expected):
            yield Diagnosis(True, compared=compared, looked_at=looked_at)
            continue
        yield Diagnosis(False, (_wrong_rows(name, every, expected),), compared=compared, looked_at=looked_at)


def _group_of(model: ModelPositions, name: str) -> LayerGroup | None:
    """The group whose learned table this is: of the part that its name says, or the only one."""
    groups = [group for group in model.groups if any(isinstance(encoding, Learned) for encoding in group.encodings)]
    of_part = [group for group in groups if group.part in name.split(".")]
    return next(iter(of_part or groups), None)


def _wrong_rows(name: str, rows: np.ndarray, expected: np.ndarray) -> Finding:
    wrong: Any = np.argwhere(rows != expected)[0]
    shifts = np.unique(rows - expected)
    if len(shifts) == 1:
        shift = int(shifts[0])
        sentence = f"Tokens read rows of {name} {abs(shift)} too {'high' if shift > 0 else 'low'}: the first row is "
        sentence += f"{expected[0] + shift} where {expected[0]} is meant."
        fix = f"Count positions from {expected[0]}: rows below belong to padding, or to nothing."
        return Finding("offset of a table", sentence, fix)
    got, model = rows[tuple(wrong)], expected[wrong[1]]
    sentence = f"Token {wrong[1]} of batch row {wrong[0]} reads row {got} of {name} where {model} is meant."
    return Finding("rows that are read", sentence, "Look at the position_ids that reach the table.")
