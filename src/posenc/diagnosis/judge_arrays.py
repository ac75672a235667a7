"""Judge arrays that running code gave: tables, biases, rotations, and the mask in logits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.doors import Encoding
from posenc.diagnosis.bias.judge_biases import judge_biases
from posenc.diagnosis.causal_types import CAUSAL_TYPES
from posenc.diagnosis.judge_hidden_states import judge_learned_rows, with_added_vectors
from posenc.diagnosis.judge_masks import judge_mask
from posenc.diagnosis.judge_sinusoids import judge_sinusoids, sinusoids_among
from posenc.diagnosis.mixed_arrays import Judge, judge_of, one_at_a_time, passed_over
from posenc.diagnosis.named_arrays import named_arrays
from posenc.diagnosis.rotation.judge_rotated_arrays import judge_rotated_arrays
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.encodings.adds.learned import Learned
from posenc.models.config.sight_rules import hides_later_keys
from posenc.models.model_positions import LayerGroup, ModelPositions


def judge_arrays(
    groups: tuple[LayerGroup, ...],
    wanted: Encoding | ModelPositions,
    arrays: Mapping[str, Any],
    layout: str | None,
    length: int | None,
) -> Diagnosis:
    """Compare arrays with what is meant for their layers, the mask in them too.

    Args:
        groups: Layers that the arrays belong to.
        wanted: The encoding or model that is meant.
        arrays: Arrays of any library under the names of `ARRAY_NAMES`.
        layout: "bhtd" or "bthd", for vectors with heads.
        length: Tokens that are served; those of the evidence if None.

    Raises:
        ValueError: Arrays are unknown or do not fit together.
    """
    encodings = [encoding for group in groups for encoding in group.encodings]
    judge = judge_of(encodings, arrays)
    verdicts = []
    for name, share in one_at_a_time(judge, arrays):
        verdict = _judge_values(judge, groups, wanted, share, layout, length)
        verdicts.append(_placed(name, _with_mask(verdict, groups, wanted, share)))
    return replace(merged_diagnosis(verdicts), not_compared=passed_over(judge, encodings, arrays))


def _placed(name: str, verdict: Diagnosis) -> Diagnosis:
    """The verdict on the array of this name, with the name in what differs; "" where none says the same."""
    if not name:
        return verdict
    findings = tuple(replace(finding, where=finding.where or f"in {name}") for finding in verdict.findings)
    return replace(verdict, findings=findings, worst=tuple(f"in {name}: {line}" for line in verdict.worst))


def _with_mask(
    verdict: Diagnosis, groups: tuple[LayerGroup, ...], wanted: Encoding | ModelPositions, arrays: Mapping[str, Any]
) -> Diagnosis:
    """The verdict on the numbers of these arrays, with the one on the mask in them."""
    if "scale" in arrays:  # stated, and compared with nothing
        verdict = replace(verdict, looked_at=tuple(name for name in verdict.looked_at if name != "softmax scale"))
    if not isinstance(wanted, ModelPositions):
        return verdict
    is_text = all(group.part == "text" for group in groups)
    causal = True if is_text and wanted.model_type in CAUSAL_TYPES and hides_later_keys(wanted) else None
    mask = judge_mask(groups, named_arrays(arrays), wanted.windows_known, causal)
    if mask is None or verdict.explained:
        return verdict if mask is None else merged_diagnosis([verdict, mask])
    return replace(verdict, notes=(*verdict.notes, *(finding.sentence for finding in mask.findings)))


def _judge_values(
    judge: Judge,
    groups: tuple[LayerGroup, ...],
    wanted: Encoding | ModelPositions,
    arrays: Mapping[str, Any],
    layout: str | None,
    length: int | None,
) -> Diagnosis:
    """Compare the numbers of arrays, leaving out what is masked."""
    added = sinusoids_among([encoding for group in groups for encoding in group.encodings])
    if judge == "sinusoids" and added is not None:
        return judge_sinusoids(added, with_added_vectors(named_arrays(arrays)))
    if judge == "learned rows":
        learned = next(group for group in groups if any(isinstance(one, Learned) for one in group.encodings))
        return judge_learned_rows(learned, named_arrays(arrays))
    if judge == "bias":
        return judge_biases(groups, arrays, isinstance(wanted, ModelPositions))
    return judge_rotated_arrays(groups, wanted, arrays, layout, length)
