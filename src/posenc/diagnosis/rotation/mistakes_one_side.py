"""Mistakes that queries or keys alone make, as logits show them; rotated vectors show each side by itself."""

from __future__ import annotations

from dataclasses import replace

from posenc.diagnosis.mistake import Mistake, from_defaults
from posenc.diagnosis.rotation.applied_rotation import Role
from posenc.diagnosis.rotation.mistakes_axes import AXES
from posenc.diagnosis.rotation.mistakes_base_and_pairing import FIELDS
from posenc.diagnosis.rotation.mistakes_scaling import SCALING
from posenc.diagnosis.rotation.rotation_evidence import Changes, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RotationUsage

SIDES: dict[Role, str] = {"key": "keys", "query": "queries"}
#: What one side may get wrong by itself: another encoding, whatever the other side does.
OF_A_SIDE = ("layout", "base", "partial ignored", "rotated width", "axes exchanged", "sections arranged otherwise",
             "scaling ignored")  # fmt: skip


def of_one_side(mistake: Mistake[RotationUsage], role: Role) -> Mistake[RotationUsage]:
    """Restrict a mistake to queries or keys alone, as logits show it."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        if evidence.kinds() != ("logits",):
            return
        for changed, words in mistake.change(usage, evidence):
            same_use = changed is not None and changed == replace(usage, encoding=changed.encoding)
            side = from_defaults(getattr(usage, role), encoding=changed.encoding) if changed and same_use else None
            yield None if side is None else replace(usage, **{role: side}), words

    sentence = f"Of {SIDES[role]} alone: {mistake.sentence[0].lower()}{mistake.sentence[1:]}"
    topic = mistake.topic or mistake.name
    return Mistake(mistake.name, sentence, mistake.fix, change, only_in="code", alone=True, topic=topic)


ONE_SIDE: tuple[Mistake[RotationUsage], ...] = tuple(
    of_one_side(mistake, role)
    for role in SIDES
    for mistake in (*FIELDS, *AXES, *SCALING)
    if mistake.name in OF_A_SIDE and mistake.only_in != "configs"
)
