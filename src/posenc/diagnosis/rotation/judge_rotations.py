"""Whether running code rotates as is meant, and which mistake it is if not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.diagnosis.degenerate import NOT_FINITE, not_finite
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.position_fields import PositionField, shown_by
from posenc.diagnosis.rotation.applied_rotation import ROLES, rotated_pairs
from posenc.diagnosis.rotation.explain_rotation import explained_by, may_regroup
from posenc.diagnosis.rotation.mistakes_positions import positions_read_off
from posenc.diagnosis.rotation.observed_table import ObservedTable
from posenc.diagnosis.rotation.position_rules import shift_of
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RoleUsage, RotationUsage
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.encodings.rotates.xd_rope import XDRoPE
from posenc.frequencies import DynamicNTK, LongRoPE
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import pair_rotation

#: What DeepSeek-V4's module calls its two rotations, and the types of layers that use them.
LABELS = {"main": ("sliding_attention",), "compress": ("compressed_sparse_attention", "heavily_compressed_attention")}
ROUNDED = "angles differ by float32 rounding, as where vectors are rotated to and fro"
REGROUPED = "pairs come out regrouped as halves, of queries and keys alike, which no logit sees"


def judge_rotations(
    groups: tuple[LayerGroup, ...],
    model: Encoding | ModelPositions,
    labelled: list[tuple[str, RotationEvidence]],
    length: int | None = None,
) -> Diagnosis:
    """Compare the rotations in these groups with what running code shows, under each label that a module gives it.

    Args:
        groups: Layers that the evidence belongs to.
        model: The encoding or model that is meant.
        labelled: Evidence, with the layer type it belongs to, or "".
        length: The length that is served, for scalings that depend on it; that of the evidence if None.

    Raises:
        ValueError: No evidence belongs to these layers, or they differ.
    """
    verdicts = []
    every = () if isinstance(model, Encoding) else model.groups
    for label, evidence in labelled:
        if (label in LABELS or _labelled(every, label)) and not _labelled(groups, label):
            continue  # no layer of this model, or of these groups, uses it
        order: tuple[PositionField, ...] = ("order of coordinates",) if _coordinates_differ(evidence) else ()
        looked_at = (*shown_by(*evidence.kinds()), *order)
        verdict = replace(_judge(groups, model, label, evidence, length), looked_at=looked_at)
        if not verdict.agree and not verdict.findings:
            return verdict
        verdicts.append(verdict)
    if not verdicts:
        labels = ", ".join(dict.fromkeys(label for label, _ in labelled))
        raise ValueError(
            f"actual must hold a rotation of the layers that are meant; got those of layers of type {labels}. Give the "
            "config of its model as expected, or the layer that it belongs to."
        )
    return merged_diagnosis(verdicts)


def agrees(
    groups: tuple[LayerGroup, ...],
    model: Encoding | ModelPositions,
    evidence: RotationEvidence,
    length: int | None = None,
) -> bool:
    """Whether the evidence fits the rotation meant in these groups, without a search for mistakes."""
    encoding = _rotation(groups, "")
    if not_finite(evidence.numbers()) is not None:
        return False
    if encoding is None:
        return evidence.unchanged()
    usage, _ = _as_shown(_served(encoding, model, evidence, length), evidence)
    remaining = evidence.without_right_tables(usage)
    return any(remaining.fits(start) for start, _ in _equivalent_usages(usage, remaining))


def _judge(
    groups: tuple[LayerGroup, ...],
    model: Encoding | ModelPositions,
    label: str,
    evidence: RotationEvidence,
    length: int | None,
) -> Diagnosis:
    compared = evidence.width()
    finding = _made_by_rotation(evidence) or not_finite(evidence.numbers())
    if finding is not None:
        return Diagnosis(False, (finding,), compared=compared)
    encoding = _rotation(groups, label)
    if encoding is None:
        return _without_rotation(model, evidence, label)
    if isinstance(encoding, XDRoPE) and isinstance(evidence, ObservedTable):
        encoding, evidence = encoding.channels, _each_channel(evidence, encoding.head_dim)
    usage, notes = _as_shown(_served(encoding, model, evidence, length), evidence)
    if pair_rotation(usage.encoding) is None:
        raise ValueError(
            "expected must rotate pairs by fixed angles to be compared with these arrays; "
            f"got {usage.encoding!r:.200}. Compare configs instead."
        )
    remaining = evidence.without_right_tables(usage)
    for start, message in _equivalent_usages(usage, remaining):
        if remaining.fits(start):
            notes += [*([message] if message else []), *evidence.unseen(usage)]
            return Diagnosis(True, notes=tuple(notes), compared=compared)
    if evidence.differs_by_angle_rounding(usage):
        return Diagnosis(True, notes=(*notes, ROUNDED), compared=compared)
    comparison = evidence.compare(usage)
    if comparison is not None and not comparison.significant.any():
        raise ValueError(
            f"actual must hold numbers that show a rotation; got {compared}, all masked or at positions so far that "
            "float32 rounds the angles away. Give tokens at lower positions."
        )
    found = _of_other_layers(model, usage, evidence, label) or _never_set(usage, evidence)
    if not found:
        explanation = explained_by([usage], evidence)
        found = () if explanation is None else explanation.findings
    if not found:
        return Diagnosis(False, (), tuple(notes), compared=compared, worst=tuple(evidence.describe_worst(usage)))
    return Diagnosis(False, found, tuple(notes), compared=compared)


def _made_by_rotation(evidence: RotationEvidence) -> Finding | None:
    """Finding on vectors that are finite before their rotation and not after it."""
    numbers = evidence.numbers()
    for before, after in (("q", "q_rotated"), ("k", "k_rotated")):
        both = {before, after} <= set(numbers)
        if both and np.isfinite(numbers[before]).all() and not np.isfinite(numbers[after]).all():
            wrong = int((~np.isfinite(numbers[after])).sum())
            sentence = (
                f"{before} is finite, and {wrong} of {numbers[after].size} numbers in {after} are NaN or infinite: "
            )
            sentence += "the frequencies, or cos and sin, are not finite."
            return Finding(NOT_FINITE, sentence, "Print inv_freq, cos and sin: memory that was never set, or a cast.")
    return None


def _served(
    encoding: RotaryEncoding, model: Encoding | ModelPositions, evidence: RotationEvidence, length: int | None
) -> RotationUsage:
    """The use of the encoding at the length that is served: the stated one, or that of the evidence.

    An encoding states its length itself, and a config the longest that is allowed.
    """
    usage = RotationUsage(encoding)
    if length is None and isinstance(model, ModelPositions):
        length = evidence.longest()
    if length is None or not isinstance(usage.scaling, LongRoPE | DynamicNTK):
        return usage
    return usage.with_scaling(length=max(length, 1)) or usage


def _as_shown(usage: RotationUsage, evidence: RotationEvidence) -> tuple[RotationUsage, list[str]]:
    """The usage, or, where vectors have only the channels that rotate, the use of these alone, with a note."""
    head, channels = usage.in_head, evidence.channels()
    if head is None or channels is None or channels == head.dim or channels != head.rope.head_dim:
        return usage, []
    note = f"the {channels} channels that rotate were compared, of heads of {head.dim}"
    return RotationUsage(head.rope), [note]


def _coordinates_differ(evidence: RotationEvidence) -> bool:
    """Whether any position has coordinates that differ: where all are alike, no pair shows which one it reads."""
    several = [one for name, one in evidence.numbers().items() if name.endswith("positions") and one.ndim == 2]
    return any(np.any(positions != positions[:, :1]) for positions in several)


def _equivalent_usages(usage: RotationUsage, evidence: RotationEvidence) -> Iterator[tuple[RotationUsage, str]]:
    """The usage, and others with the same logits (pairs regrouped, positions shifted), each with a note."""
    yield usage, ""
    both = set(evidence.roles()) in ({"query", "key"}, set())
    regrouped = [replace(usage, regrouped=True)] if both and evidence.roles() and may_regroup(usage) else []
    for start in regrouped:
        yield start, REGROUPED
    # What one token shows, the keys that were cached before it need not share.
    shifted = both and evidence.only_position() is None
    for start in (usage, *regrouped) if shifted else ():
        shift = _common_shift(start, evidence)
        if any(shift):
            side = RoleUsage(shift=shift[0] if len(shift) == 1 else shift)
            message = f"positions are shifted by {', '.join(map(str, shift))}"
            note = f"{message}; for a rotation of queries and keys alike this is harmless"
            yield replace(start, query=side, key=side), note


def _each_channel(table: ObservedTable, dim: int) -> ObservedTable:
    """Repeat a table of one column per pair, so that it has one per channel of the head; others stay as they are."""
    if 2 * table.cos.shape[1] != dim:
        return table
    return replace(table, cos=np.tile(table.cos, 2), sin=np.tile(table.sin, 2), layout="")


def _common_shift(usage: RotationUsage, evidence: RotationEvidence) -> tuple[int, ...]:
    """Shift of positions, per coordinate, that queries and keys share; () where they differ, or show none."""
    shifts = set()
    for role in evidence.roles() or ROLES[:1]:
        used = positions_read_off(evidence, usage, role)
        if used is None:
            return ()
        shifts.add(shift_of(used))
    return shifts.pop() if len(shifts) == 1 else ()


def _labelled(groups: tuple[LayerGroup, ...], label: str) -> list[LayerGroup]:
    """Groups of the layers that a module's label stands for."""
    return [group for group in groups if label and group.attention in LABELS.get(label, (label,))]


def _rotation(groups: tuple[LayerGroup, ...], label: str) -> RotaryEncoding | None:
    """The one rotation meant for these groups and this label; None for layers that do not rotate."""
    chosen = _labelled(groups, label) or groups
    rotations = {group.rotary_encoding for group in chosen if group.rotary_encoding is not None}
    if not rotations and any(encoding.door != "rotates" for group in chosen for encoding in group.encodings):
        encodings = [encoding for group in chosen for encoding in group.encodings]
        raise ValueError(
            f"expected must rotate queries and keys to be compared with these arrays; got {encodings!r:.200}. "
            "Compare configs instead."
        )
    if len(rotations) > 1:
        raise ValueError(
            "layer must name the layer of these arrays, since layers differ; got None. Give layer=0, say, and part "
            "where parts differ."
        )
    return rotations.pop() if rotations else None


def _without_rotation(model: Encoding | ModelPositions, evidence: RotationEvidence, label: str) -> Diagnosis:
    """Judge whether a layer that is not to rotate leaves its vectors unchanged."""
    if evidence.unchanged():
        return Diagnosis(True, notes=("this layer does not rotate",), compared=evidence.width())
    groups = () if isinstance(model, Encoding) else model.groups
    others = (group.rotary_encoding for group in groups if group.rotary_encoding is not None)
    like = next((rotation for rotation in others if evidence.fits(RotationUsage(rotation))), None)
    as_others = "" if like is None else ", as other layers do"
    sentence = f"This layer rotates{as_others}, and should not: it has no rotation (NoPE)."
    fix = "Read no_rope_layers (a 1 means that the layer rotates) or no_rope_layer_interval."
    return Diagnosis(False, (Finding("NoPE layer rotated", sentence, fix, label),), compared=evidence.width())


def _of_other_layers(
    model: Encoding | ModelPositions, usage: RotationUsage, evidence: RotationEvidence, label: str
) -> tuple[Finding, ...]:
    """Finding that the encoding of other layers is used here; () where none of theirs fits."""
    for group in () if isinstance(model, Encoding) else model.groups:
        for other in group.encodings:
            if not isinstance(other, RotaryEncoding) or pair_rotation(other) is None:
                continue
            if other.axes != usage.encoding.axes:  # a tower's positions are no words' positions
                continue
            if _unserved(other) == _unserved(usage.encoding):
                continue
            if evidence.fits(_as_shown(RotationUsage(other), evidence)[0]):
                sentence = f"What {group.attention or 'other'} layers are to use is used here."
                fix = "Read layer_types and the nested rope_parameters of the file."
                return (Finding("local and global exchanged", sentence, fix, label),)
    return ()


def _unserved(encoding: RotaryEncoding) -> RotaryEncoding:
    """The encoding at served length 1, so that layers that differ in the served length alone compare equal."""
    usage = RotationUsage(encoding)
    return (usage.with_scaling(length=1) or usage).encoding


def _never_set(usage: RotationUsage, evidence: RotationEvidence) -> tuple[Finding, ...]:
    """Frequencies that a module holds and that are all one number: memory that was never filled."""
    buffered = evidence.numbers().get("inv_freq")
    expected = rotated_pairs(usage, "query").frequencies[0]
    if buffered is None or len(buffered) < 3 or np.ptp(buffered) or np.ptp(expected) == 0.0:
        return ()
    sentence = f"All {len(buffered)} frequencies in inv_freq are {buffered[0]:.4g}: a buffer that was never set."
    fix = "Compute inv_freq after to_empty: a model built on the meta device holds what was in memory."
    return (Finding("frequencies never set", sentence, fix),)
