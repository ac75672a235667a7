"""Search for what explains a rotation that differs: one mistake, one of some heads or rows, two mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

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


class Explanation(NamedTuple):
    """The usage that is right, and the mistakes that lead from it to what is there."""

    usage: RotationUsage
    findings: tuple[Finding, ...]


def explained_by(usages: Sequence[RotationUsage], evidence: RotationEvidence) -> Explanation | None:
    """The mistake that explains all of the evidence, or the part of it that differs, or else the two that explain it.

    Where nothing does, the part itself is named if it differs as a whole.

    Args:
        usages: What may be meant, the likeliest first.
        evidence: What running code shows.

    Returns:
        The first explanation; None where there is none.
    """
    starts = [start for usage in usages for start in with_regrouped(usage, evidence)]
    one = explain(starts, IN_CODE, evidence, most=1)
    if one is not None:
        return Explanation(one.start, one.findings)
    parts = [(usage, part) for usage in usages for part in parts_that_differ(evidence, usage)]
    for usage, part in parts:
        of_part = explain(with_regrouped(usage, evidence), IN_CODE, part.evidence, most=1)
        if of_part is not None:
            return Explanation(usage, tuple(replace(finding, where=part.where) for finding in of_part.findings))
    two = explain(starts, IN_CODE, evidence)
    if two is not None:
        return Explanation(two.start, two.findings)
    sharp = ((usage, part) for usage, part in parts if part.sharp)
    return next((Explanation(usage, (replace(SOME_DIFFER, where=part.where),)) for usage, part in sharp), None)


def with_regrouped(usage: RotationUsage, evidence: RotationEvidence) -> list[RotationUsage]:
    """The usage, and the same with pairs left as halves, where vectors may show that."""
    return [usage, *([replace(usage, regrouped=True)] if evidence.roles() and may_regroup(usage) else [])]


def may_regroup(usage: RotationUsage) -> bool:
    """Whether code may leave the pairs of this usage as halves, as DeepSeek's does."""
    return usage.in_head is not None and pairs_adjacent(usage.encoding) and usage.in_head.rope.head_dim > 2
