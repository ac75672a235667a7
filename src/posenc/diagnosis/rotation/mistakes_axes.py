"""Mistakes of rotations over several axes: which pair reads which coordinate."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from posenc.diagnosis.mistake import Mistake
from posenc.diagnosis.rotation.applied_rotation import ROLES, rotated_pairs
from posenc.diagnosis.rotation.rotation_evidence import Changes, OtherRotation, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.encodings.rotates.axial_rope import AxialRoPE


def axes_exchanged(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield the rotation with two coordinates exchanged, for every two."""
    if isinstance(rope := usage.rope, AxialRoPE):
        for one, other in combinations(range(rope.axes), 2):
            swap = {one: other, other: one}
            axis = tuple(swap.get(axis, axis) for axis in rope.axis)
            yield usage.with_rope(axis=axis), {"one": one, "other": other}


def axes_arranged(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield the rotation with the pairs of its axes in blocks, then interleaved."""
    if isinstance(rope := usage.rope, AxialRoPE):
        counts = _pair_counts(rope.axis)
        yield usage.with_rope(axis=_blocks(counts)), {"got": "in blocks"}
        yield usage.with_rope(axis=_interleaved(counts)), {"got": "interleaved"}


def section_sizes(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield other numbers of pairs per axis, in blocks: the other config's, or its own with two exchanged."""
    if not isinstance(rope := usage.rope, AxialRoPE):
        return
    counts = _pair_counts(rope.axis)
    options = [_blocks(_two_exchanged(counts, *two)) for two in combinations(range(len(counts)), 2)]
    if isinstance(evidence, OtherRotation):
        other = None if evidence.in_head is None else evidence.in_head.rope
        options = [other.axis] if isinstance(other, AxialRoPE) else []
    for axis in options:
        if len(axis) == len(rope.axis):
            yield usage.with_rope(axis=axis), {"got": _pair_counts(axis), "meant": counts}


def pairs_of_axes(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield the coordinate of each pair as the observed rotations show it."""
    of_roles = (evidence.rotations(usage, role) for role in (*evidence.roles(), *ROLES))
    rotations = next((one for one in of_roles if one is not None), None)
    if not isinstance(rope := usage.rope, AxialRoPE) or rotations is None or rotations.positions.ndim == 1:
        return
    expected_axis = np.array(rope.axis)
    if rotations.positions.shape[1] < rope.axes:
        return
    axis = rotations.axes(rotated_pairs(usage, "query").frequencies[0], expected_axis)
    wrong = np.flatnonzero(axis != expected_axis)
    if wrong.size:
        words = {"pairs": ", ".join(map(str, wrong[:8])), "got": _pair_counts(tuple(axis.tolist()))}
        yield usage.with_rope(axis=tuple(axis.tolist())), words | {"meant": _pair_counts(rope.axis)}


def _pair_counts(axis: tuple[int, ...]) -> list[int]:
    """Number of pairs that read each axis."""
    return [axis.count(number) for number in range(max(axis) + 1)]


def _two_exchanged(counts: list[int], one: int, other: int) -> list[int]:
    changed = list(counts)
    changed[one], changed[other] = counts[other], counts[one]
    return changed


def _blocks(counts: list[int]) -> tuple[int, ...]:
    return tuple(axis for axis, count in enumerate(counts) for _ in range(count))


def _interleaved(counts: list[int]) -> tuple[int, ...]:
    """Pair i reads axis i mod axes while that has pairs left, else the first one."""
    axes = len(counts)
    return tuple(pair % axes if pair < axes * counts[pair % axes] else 0 for pair in range(sum(counts)))


AXES: tuple[Mistake[RotationUsage], ...] = (
    Mistake("axes exchanged", "Coordinates {one} and {other} are exchanged, height and width, say.",
            "Look at the order of the coordinates that positions are built in.", axes_exchanged),
    Mistake("sections arranged otherwise", "The pairs of the axes stand {got}.",
            "Look at mrope_interleaved: it says whether sections are blocks or alternate.", axes_arranged),
    Mistake("section sizes", "The axes have {got} pairs where {meant} are meant.",
            "Set mrope_section={meant}.", section_sizes),
    Mistake("pairs of the sections",
            "Pairs {pairs} belong to other sections: the axes have {got} pairs where {meant} are meant.",
            "Deal pairs out to the axes within the bounds that mrope_section={meant} sets.", pairs_of_axes,
            alone=True),
)  # fmt: skip
