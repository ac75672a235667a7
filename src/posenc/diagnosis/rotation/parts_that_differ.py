"""Parts of evidence that differ from a usage as a set: some heads, some rows of the batch, some positions, one side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.rotation.applied_rotation import Role
from posenc.diagnosis.rotation.evidence_from_arrays import CombinedEvidence
from posenc.diagnosis.rotation.observed_logits import ObservedLogits
from posenc.diagnosis.rotation.observed_table import ObservedTable
from posenc.diagnosis.rotation.observed_vectors import ObservedVectors
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.diagnosis.sets_in_words import set_in_words

SIDES: dict[Role, str] = {"query": "queries", "key": "keys"}
#: A set that no mistake explains is named where it differs by so many times what rounding allows.
SHARP = 100.0
#: So many positions must be right, or the others are no set among them.
ENOUGH = 8


class Part(NamedTuple):
    """Part of the evidence: some heads, batch rows or positions, or one side.

    Args:
        where: What it is, in words: "heads 8 to 15".
        evidence: That part alone.
        sharp: Whether all of it is far off, so that the set itself says something.
    """

    where: str
    evidence: RotationEvidence
    sharp: bool


def parts_that_differ(evidence: RotationEvidence, usage: RotationUsage) -> Iterator[Part]:
    """Sets of heads, rows or sides that differ from a usage where the rest agrees, the largest parts first."""
    if isinstance(evidence, CombinedEvidence):
        yield from _of_sides(evidence, usage)
    if isinstance(evidence, ObservedVectors):
        yield from _of_vectors(evidence, usage)
    if isinstance(evidence, ObservedTable):
        yield from _of_table(evidence, usage)
    if isinstance(evidence, ObservedLogits):
        yield from _of_logits(evidence, usage)


def _of_sides(evidence: CombinedEvidence, usage: RotationUsage) -> Iterator[Part]:
    wrong = [part for part in evidence.parts if not part.fits(usage)]
    if len(wrong) == 1 and wrong[0].roles():
        yield Part(f"{SIDES[wrong[0].roles()[0]]} alone", wrong[0], sharp=False)
    sets = [{part.where: part for part in parts_that_differ(one, usage)} for one in wrong]
    for where in sets[0] if sets else ():
        if all(where in one for one in sets):
            parts = tuple(one[where] for one in sets)
            side = f"{SIDES[wrong[0].roles()[0]]}, " if len(wrong) == 1 and wrong[0].roles() else ""
            combined = parts[0].evidence if len(parts) == 1 else CombinedEvidence(tuple(one.evidence for one in parts))
            yield Part(side + where, combined, all(part.sharp for part in parts))


def _excess(evidence: RotationEvidence, usage: RotationUsage) -> np.ndarray | None:
    """Gap of every number divided by its tolerance, 0 where it shows nothing; None where nothing is compared."""
    comparison = evidence.compare(usage)
    if comparison is None:
        return None
    return np.where(comparison.significant, comparison.gap / np.maximum(comparison.tolerance, 1e-300), 0.0)


def _of_vectors(evidence: ObservedVectors, usage: RotationUsage) -> Iterator[Part]:
    excess = _excess(evidence, usage)
    if excess is None:
        return
    row = excess.max(1)
    numbers = [("head", evidence.heads), ("batch row", evidence.batch)]
    numbers += [("position", evidence.positions)] if evidence.positions.ndim == 1 else []
    for name, number in numbers:
        for where, wrong, sharp in _sets(name, number, row):
            yield Part(where, evidence.of_rows(np.isin(number, wrong)), sharp)


def _of_table(evidence: ObservedTable, usage: RotationUsage) -> Iterator[Part]:
    excess = _excess(evidence, usage)
    if excess is not None and evidence.positions.ndim == 1:
        for where, wrong, sharp in _sets("position", evidence.positions, excess.max(1)):
            yield Part(where, evidence.of_rows(np.isin(evidence.positions, wrong)), sharp)


def _of_logits(evidence: ObservedLogits, usage: RotationUsage) -> Iterator[Part]:
    excess = _excess(evidence, usage)
    if excess is None:
        return
    heads, queries, keys = excess.shape
    for where, wrong, sharp in _sets("head", np.arange(heads), excess.max((1, 2))):
        yield Part(where, evidence.of_heads(wrong), sharp)
    if evidence.query_positions.ndim > 1:
        return
    for where, wrong, sharp in _sets("position", evidence.query_positions, excess.max((0, 2))):
        rows = np.isin(evidence.query_positions, wrong)
        yield Part(f"queries at {where}", evidence.of_tokens(rows, np.arange(keys)), sharp)
    for where, wrong, sharp in _sets("position", evidence.key_positions, excess.max((0, 1))):
        columns = np.isin(evidence.key_positions, wrong)
        yield Part(f"keys at {where}", evidence.of_tokens(np.arange(queries), columns), sharp)


def _sets(name: str, number: np.ndarray, excess: np.ndarray) -> Iterator[tuple[str, np.ndarray, bool]]:
    """Heads, batch rows or positions that are off, in words, as numbers, and whether sharply, if they follow a rule.

    Position 0 is not rotated: if it alone is right, that proves nothing.
    """
    every, of_row = np.unique(number, return_inverse=True)
    most = np.zeros(len(every))
    np.maximum.at(most, of_row.reshape(-1), excess)
    wrong = every[most > 1.0]
    right = every[most <= 1.0]
    if name == "position":
        right = right[right != 0]
    shown = every.astype(np.int64) if np.array_equal(every, np.floor(every)) else every
    where = set_in_words(name, shown[most > 1.0], shown) if wrong.size and right.size else ""
    if where:
        enough = name == "head" or len(right) >= ENOUGH
        yield where, wrong, enough and bool(most[most > 1.0].min() > SHARP)
