"""Search for what explains a rotation that differs: one mistake, one of some heads or rows, two mistakes."""

from __future__ import annotations

from dataclasses import replace

from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.rotation.applied_rotation import pairs_adjacent
from posenc.diagnosis.rotation.parts_that_differ import parts_that_differ
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_mistakes import IN_CODE
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.diagnosis.search import explain

SOME_DIFFER = Finding(
    "some differ",
    "These differ from what is meant, by a mistake that is not known; all others are right.",
    "Look at what treats them otherwise: a kernel's blocks, a shard, a cache, a second call.",
)


def explained_by(usage: RotationUsage, evidence: RotationEvidence) -> tuple[Finding, ...]:
    """The mistake that explains all of the evidence, or the part of it that differs, or else the two that explain it.

    Where nothing does, the part itself is named if it differs as a whole.
    """
    starts = [usage, *([replace(usage, regrouped=True)] if evidence.roles() and may_regroup(usage) else [])]
    one = explain(starts, IN_CODE, evidence, most=1)
    if one is not None:
        return one.findings
    parts = list(parts_that_differ(evidence, usage))
    for part in parts:
        of_part = explain(starts, IN_CODE, part.evidence, most=1)
        if of_part is not None:
            return tuple(replace(finding, where=part.where) for finding in of_part.findings)
    two = explain(starts, IN_CODE, evidence)
    if two is not None:
        return two.findings
    return tuple(replace(SOME_DIFFER, where=part.where) for part in parts if part.sharp)[:1]


def may_regroup(usage: RotationUsage) -> bool:
    """Whether code may leave the pairs of this usage as halves, as DeepSeek's does."""
    return usage.in_head is not None and pairs_adjacent(usage.encoding) and usage.in_head.rope.head_dim > 2
