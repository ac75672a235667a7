"""Whether running code rotates as is meant, and which mistake it is if not."""

from __future__ import annotations

from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.rotation.observed_rotations import (
    ObservedFrequencies,
    ObservedTable,
    ObservedVectors,
    common_shift,
)
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_mistakes import IN_CODE
from posenc.diagnosis.rotation.usage import RotationUsage
from posenc.diagnosis.search import explain
from posenc.diagnosis.verdict import Diagnosis
from posenc.doors import Encoding, Rotates
from posenc.models.model_positions import LayerGroup, ModelPositions

#: What DeepSeek-V4's module calls its two rotations, and the types of layers that use them.
LABELS = {"main": ("sliding_attention",), "compress": ("compressed_sparse_attention", "heavily_compressed_attention")}


def judge_rotations(
    groups: tuple[LayerGroup, ...], meant: Encoding | ModelPositions, labelled: list[tuple[str, RotationEvidence]]
) -> Diagnosis:
    """Compare the rotations in these groups with what running code shows, under each label that a module gives it."""
    findings: list[Finding] = []
    notes: list[str] = []
    agree = True
    for label, evidence in labelled:
        if label in LABELS and not _labelled(groups, label):
            continue  # no layer of this model uses it
        usage = RotationUsage(_rotation(groups, label))
        if evidence.fits(usage):
            notes += _unseen(usage, evidence)
            continue
        shift = 0 if isinstance(evidence, ObservedFrequencies | ObservedVectors) else common_shift(evidence, usage)
        if shift:
            notes.append(f"positions are shifted by {shift}; for a rotation of queries and keys alike this is harmless")
            continue
        agree = False
        found = _of_other_layers(meant, usage, evidence, label)
        if not found and (explanation := explain([usage], IN_CODE, evidence)) is not None:
            found = explanation.findings
        if not found:
            return Diagnosis(False, (), tuple(notes))
        findings += [finding for finding in found if finding not in findings]
    return Diagnosis(agree, tuple(findings), tuple(dict.fromkeys(notes)))


def _labelled(groups: tuple[LayerGroup, ...], label: str) -> list[LayerGroup]:
    """The groups whose layers a module calls so."""
    return [group for group in groups if label and group.attention in LABELS.get(label, (label,))]


def _rotation(groups: tuple[LayerGroup, ...], label: str) -> Rotates:
    """The one rotation that the evidence shows."""
    records = [record for group in _labelled(groups, label) or groups for record in group.encodings]
    rotations = list(dict.fromkeys(record for record in records if isinstance(record, Rotates)))
    if not rotations:
        raise ValueError(
            f"expected must rotate queries and keys to be compared with these arrays; got {records or 'no record'}. "
            "Compare configs instead."
        )
    if len(rotations) > 1:
        raise ValueError(
            "layer must say which layer these arrays belong to, since layers differ; give layer=0, say, and part where "
            "parts differ."
        )
    return rotations[0]


def _of_other_layers(
    meant: Encoding | ModelPositions, usage: RotationUsage, evidence: RotationEvidence, label: str
) -> tuple[Finding, ...]:
    """Whether other layers' record is used here."""
    for group in () if isinstance(meant, Encoding) else meant.groups:
        for other in group.encodings:
            if isinstance(other, Rotates) and other != usage.record and evidence.fits(RotationUsage(other)):
                sentence = f"What {group.attention or 'other'} layers are to use is used here."
                fix = "Read layer_types and the nested rope_parameters of the file."
                return (Finding("local and global exchanged", sentence, fix, label),)
    return ()


def _unseen(usage: RotationUsage, evidence: RotationEvidence) -> list[str]:
    """What such evidence cannot show."""
    if isinstance(evidence, ObservedFrequencies):
        return ["frequencies alone show neither how channels are paired nor positions; give q and q_rotated for these"]
    if not isinstance(evidence, ObservedTable):
        return []
    notes = []
    if evidence.held is not None and not evidence.held.fits(usage):
        notes.append("the inv_freq that it holds are others than it uses: what it returns is right all the same")
    if evidence.layout != "adjacent":
        notes.append("cos and sin do not show how channels are paired; give q and q_rotated for that")
    return notes
