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

SOME_DIFFER = "These differ from what is meant, by a mistake that is not known; all others are right."
#: What to do where some heads, or some positions, differ.
LOOK_AT_HEADS = (
    "Print the cos and sin that these heads are given, beside those of a head that is right: a shard of tensor "
    "parallelism, a block of a kernel or a group of keys may take another's."
)
LOOK_AT_POSITIONS = (
    "Print the positions, cos and sin at the first of these and just before it: a table may end there, a cache begin "
    "anew, a second call or a block of a kernel start."
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
            return Explanation(usage, tuple(_in_part(finding, part.where) for finding in of_part.findings))
    two = explain(starts, IN_CODE, evidence)
    if two is not None:
        return Explanation(two.start, two.findings)
    sharp = ((usage, part) for usage, part in parts if part.sharp)
    return next((Explanation(usage, (_some_differ(part.where),)) for usage, part in sharp), None)


def _in_part(finding: Finding, where: str) -> Finding:
    """Restrict a finding, and its remedy, to some heads or positions."""
    place = where.removesuffix(" alone")
    return replace(finding, where=where, fix=f"{finding.fix} This concerns {place} alone; the others are right.")


def _some_differ(where: str) -> Finding:
    return Finding("some differ", SOME_DIFFER, LOOK_AT_HEADS if "head" in where else LOOK_AT_POSITIONS, where)


def with_regrouped(usage: RotationUsage, evidence: RotationEvidence) -> list[RotationUsage]:
    """List the usage and, where vectors may show it, a variant that leaves rotated adjacent pairs as halves."""
    return [usage, *([replace(usage, regrouped=True)] if evidence.roles() and may_regroup(usage) else [])]


def may_regroup(usage: RotationUsage) -> bool:
    """Whether code may leave the rotated adjacent pairs of this usage as halves, as DeepSeek's does."""
    return usage.in_head is not None and pairs_adjacent(usage.encoding) and usage.in_head.rope.head_dim > 2
