"""Judge arrays that running code gave: tables, biases, rotations, and the mask in logits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.bias.judge_biases import judge_biases
from posenc.diagnosis.causal_types import CAUSAL_TYPES
from posenc.diagnosis.judge_hidden_states import judge_learned_rows, with_added_vectors
from posenc.diagnosis.judge_masks import judge_mask
from posenc.diagnosis.judge_sinusoids import judge_sinusoids, sinusoids_among
from posenc.diagnosis.mistake import Finding, unless_refused
from posenc.diagnosis.mixed_arrays import Judge, judge_of, one_at_a_time, passed_over
from posenc.diagnosis.named_arrays import POSITION_NAMES, named_arrays, on_host
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.judge_rotations import agrees, judge_rotations
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.encodings.adds.learned import Learned
from posenc.models.config.sight_rules import hides_later_keys
from posenc.models.model_positions import LayerGroup, ModelPositions

TOKENS_FIRST = "three axes were read as (tokens, heads, dim), as they agree so; layout='bthd' says it"
EITHER_FIRST = (
    "three axes are read as (heads, tokens, dim); as (tokens, heads, dim) they agree: layout='bthd' says that"
)
WITHOUT_TEMPERATURE = Finding(
    "query temperature",
    "The logits are q·k without the factor of the query's position.",
    "Multiply queries by the query_temperature of the layer, which posenc.models.from_config states; if q was dumped "
    "after that, dump it before.",
)
#: No layer has more heads: a longer axis is that of tokens.
MOST_HEADS = 256


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
    group = next((group for group in groups if group.rotary_encoding is not None), next(iter(groups), None))
    logit_factor, temperature = (group.logit_factor, group.query_temperature) if group else (1.0, None)
    axes = max((group.rotary_encoding.axes for group in groups if group.rotary_encoding is not None), default=1)
    arrays = _with_coordinates_last(arrays, axes)
    evidence = rotation_evidence(arrays, layout, logit_factor, temperature)
    if temperature is not None and not agrees(groups, wanted, evidence, length):
        without = rotation_evidence(arrays, layout, logit_factor)
        if agrees(groups, wanted, without, length):
            looked_at = shown_by(*evidence.kinds())
            return Diagnosis(False, (WITHOUT_TEMPERATURE,), compared=evidence.width(), looked_at=looked_at)
    first = _first_axis(arrays) if layout is None else 0
    if first and not agrees(groups, wanted, evidence, length):
        tokens_first = unless_refused(lambda: rotation_evidence(arrays, "bthd", logit_factor, temperature))
        if tokens_first is not None and agrees(groups, wanted, tokens_first, length):
            # Heads that are taken for positions agree so too: of an axis that may be one of heads, nobody can tell.
            read, note = (tokens_first, TOKENS_FIRST) if first > MOST_HEADS else (evidence, EITHER_FIRST)
            verdict = judge_rotations(groups, wanted, [("", read)], length)
            return replace(verdict, notes=(*verdict.notes, note))
    return judge_rotations(groups, wanted, [("", evidence)], length)


def _first_axis(arrays: Mapping[str, Any]) -> int:
    """Length of the first axis of three-axis q and k, if it is longer than the second and so may be tokens; else 0."""
    shapes = [on_host(arrays[name]).values.shape for name in ("q", "k") if name in arrays]
    of_three = [shape for shape in shapes if len(shape) == 3]
    return min((shape[0] for shape in of_three), default=0) if all(one[0] > one[1] for one in of_three) else 0


def _with_coordinates_last(arrays: Mapping[str, Any], axes: int) -> Mapping[str, Any]:
    """Arrays with positions (axes, n) or (axes, batch, n), as M-RoPE models hold them, moved to (..., n, axes)."""
    found = dict(arrays)
    for name in POSITION_NAMES if axes > 1 else ():
        held = on_host(found[name]) if name in found else None
        if held is not None and held.values.ndim in (2, 3) and held.values.shape[0] == axes != held.values.shape[-1]:
            found[name] = held._replace(values=np.moveaxis(held.values, 0, -1))
    return found
