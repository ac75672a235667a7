"""Judge arrays that show a rotation; three axes that nobody stated are heads first, unless that cannot be meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.mistake import Finding, unless_refused
from posenc.diagnosis.named_arrays import POSITION_NAMES, on_host
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.explain_rotation import SOME_DIFFER
from posenc.diagnosis.rotation.judge_rotations import agrees, judge_rotations
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import rope_in_head
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import LayerGroup, ModelPositions

TOKENS_FIRST = "three axes were read as (tokens, heads, dim), as they agree so; layout='bthd' says it"
HEADS_FIRST = "three axes were read as (heads, tokens, dim); layout='bthd' reads them as (tokens, heads, dim)"
WRONG_AXIS = "wrong axis"
WITHOUT_TEMPERATURE = Finding(
    "query temperature",
    "The logits are q·k without the factor of the query's position.",
    "Multiply queries by the query_temperature of the layer, which posenc.models.from_config states; if q was dumped "
    "after that, dump it before.",
)
#: No layer has more heads: a longer axis is that of tokens.
MOST_HEADS = 256


def judge_rotated_arrays(
    groups: tuple[LayerGroup, ...],
    wanted: Encoding | ModelPositions,
    arrays: Mapping[str, Any],
    layout: str | None,
    length: int | None,
) -> Diagnosis:
    """Compare arrays that show a rotation with the one that is meant.

    Args:
        groups: Layers that the arrays belong to.
        wanted: The encoding or model that is meant.
        arrays: Arrays of any library under the names of `ARRAY_NAMES`.
        layout: "bhtd" or "bthd", for vectors with heads.
        length: Tokens that are served; those of the evidence if None.

    Raises:
        ValueError: Arrays do not fit together, heads are joined, or the verdict depends on a layout that is not given.
    """
    group = next((group for group in groups if group.rotary_encoding is not None), next(iter(groups), None))
    logit_factor, temperature = (group.logit_factor, group.query_temperature) if group else (1.0, None)
    axes = max((group.rotary_encoding.axes for group in groups if group.rotary_encoding is not None), default=1)
    arrays = _with_coordinates_last(arrays, axes)
    read = partial(rotation_evidence, arrays, logit_factor=logit_factor, temperature=temperature)
    evidence = read(layout)
    if temperature is not None and not agrees(groups, wanted, evidence, length):
        without = rotation_evidence(arrays, layout, logit_factor)
        if agrees(groups, wanted, without, length):
            looked_at = shown_by(*evidence.kinds())
            return Diagnosis(False, (WITHOUT_TEMPERATURE,), compared=evidence.width(), looked_at=looked_at)
    shapes = [on_host(arrays[name]).values.shape for name in ("q", "k") if name in arrays]
    if layout is None:
        return _judge_without_layout(groups, wanted, evidence, lambda: read("bthd"), shapes, length)
    return judge_rotations(groups, wanted, [("", evidence)], length)


def _judge_without_layout(
    groups: tuple[LayerGroup, ...],
    wanted: Encoding | ModelPositions,
    evidence: RotationEvidence,
    read_tokens_first: Callable[[], RotationEvidence],
    shapes: Sequence[tuple[int, ...]],
    length: int | None,
) -> Diagnosis:
    """Compare vectors whose axes nobody stated; refuse them where that decides and either reading may be meant."""
    first, tokens_first = _first_axis(shapes), None
    if first and not agrees(groups, wanted, evidence, length):
        tokens_first = unless_refused(read_tokens_first)
        if tokens_first is not None and agrees(groups, wanted, tokens_first, length):
            # Heads that are taken for positions agree so too: of an axis that may be one of heads, nobody can tell.
            if first <= MOST_HEADS:
                raise _either_first(shapes[0], "they agree")
            verdict = judge_rotations(groups, wanted, [("", tokens_first)], length)
            return replace(verdict, notes=(*verdict.notes, TOKENS_FIRST))
    verdict = judge_rotations(groups, wanted, [("", evidence)], length)
    if not _is_named(verdict):
        _check_heads_apart(groups, shapes)
        other = None if tokens_first is None else judge_rotations(groups, wanted, [("", tokens_first)], length)
        if other is not None and _is_named(other):
            raise _either_first(shapes[0], f"the mistake is {other.findings[0].name!r}")
    if any(len(shape) == 3 for shape in shapes) and any(one.name == WRONG_AXIS for one in verdict.findings):
        return replace(verdict, notes=(*verdict.notes, HEADS_FIRST))
    return verdict


def _first_axis(shapes: Sequence[tuple[int, ...]]) -> int:
    """Length of the first axis of three-axis q and k, if it is longer than the second and so may be tokens; else 0."""
    of_three = [shape for shape in shapes if len(shape) == 3]
    return min((shape[0] for shape in of_three), default=0) if all(one[0] > one[1] for one in of_three) else 0


def _is_named(verdict: Diagnosis) -> bool:
    """Whether the arrays agree, or differ by a mistake that is known."""
    return verdict.agree or any(finding.sentence != SOME_DIFFER for finding in verdict.findings)


def _either_first(shape: tuple[int, ...], outcome: str) -> ValueError:
    """Error for vectors whose axes do not show which holds the tokens, where that decides the verdict."""
    return ValueError(
        f"layout must say which axis of q and k holds the tokens; got None for shape {shape}: as (heads, tokens, dim) "
        f"they differ, as (tokens, heads, dim) {outcome}. Give layout='bthd' for tokens first, 'bhtd' for heads first."
    )


def _check_heads_apart(groups: tuple[LayerGroup, ...], shapes: Sequence[tuple[int, ...]]) -> None:
    """Refuse q and k (tokens, channels) as wide as several heads, which no position explains."""
    heads = [rope_in_head(group.rotary_encoding) for group in groups]
    widths = [head.dim for head in heads if head is not None]
    for tokens, channels in (shape for shape in shapes if len(shape) == 2):
        if widths and channels > widths[0] and channels % widths[0] == 0:
            raise ValueError(
                f"q and k must have an axis of heads; got shape {(tokens, channels)} where a head has {widths[0]} "
                f"channels. Reshape them to {(tokens, channels // widths[0], widths[0])}, and give layout='bthd'."
            )


def _with_coordinates_last(arrays: Mapping[str, Any], axes: int) -> Mapping[str, Any]:
    """Arrays with positions (axes, n) or (axes, batch, n), as M-RoPE models hold them, moved to (..., n, axes)."""
    found = dict(arrays)
    for name in POSITION_NAMES if axes > 1 else ():
        held = on_host(found[name]) if name in found else None
        if held is not None and held.values.ndim in (2, 3) and held.values.shape[0] == axes != held.values.shape[-1]:
            found[name] = held._replace(values=np.moveaxis(held.values, 0, -1))
    return found
