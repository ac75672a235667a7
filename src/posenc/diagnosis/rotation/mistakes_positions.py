"""Mistakes that are read off the numbers: from which positions rows were rotated, by what logits were multiplied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posenc.diagnosis.mistake import Mistake, from_defaults
from posenc.diagnosis.rotation.applied_rotation import Role, rotated_pairs
from posenc.diagnosis.rotation.position_rules import UsedPositions, rule_of
from posenc.diagnosis.rotation.rotation_evidence import Changes, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RoleUsage, RotationUsage

NAMES: dict[Role, str] = {"query": "queries", "key": "keys"}


def positions_read_off(evidence: RotationEvidence, usage: RotationUsage, role: Role) -> UsedPositions | None:
    """The positions that queries or keys were really rotated from; None where that is not shown."""
    rotations = evidence.rotations(usage, role)
    if usage.other_layout or usage.sine_for_cosine:
        return None
    if rotations is None:
        by_products = evidence.used_positions(usage, role)
        return None if by_products is None else UsedPositions(*by_products)
    pairs = rotated_pairs(usage, role)
    axis = pairs.axis if rotations.positions.ndim > 1 else np.zeros_like(pairs.axis)
    return UsedPositions(rotations.positions, rotations.used_positions(pairs.frequencies[0], axis))


def positions_elsewhere(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield positions of queries, keys or both that follow another rule, read off the evidence."""
    roles: tuple[Role, ...] = evidence.roles() or ("query", "key")
    changes = {}
    for role in roles:
        used = positions_read_off(evidence, usage, role)
        rule = None if used is None else rule_of(used)
        if rule is not None:
            changes[role] = rule
    if not changes:
        return
    if "logits" in evidence.kinds():  # what one side shows, it shows where the other is right
        yield from _of_one_side(usage, changes)
        return
    if len(changes) < len(roles) or len({message for _, message in changes.values()}) > 1:
        messages = [f"{NAMES[role]} {message}" for role, (_, message) in changes.items()]
    else:
        messages = [f"{' and '.join(NAMES[role] for role in changes)} {next(iter(changes.values()))[1]}"]
    changed: RotationUsage | None = usage
    for role, (moved, _) in changes.items():
        side = from_defaults(getattr(usage, role), moves=moved.moves, shift=moved.shift)
        changed = None if side is None or changed is None else replace(changed, **{role: side})
    if not evidence.roles() and changed is not None:
        changed = replace(changed, key=changed.query)
    yield changed, {"message": "; ".join(messages).capitalize()}


def _of_one_side(usage: RotationUsage, changes: dict[Role, tuple[RoleUsage, str]]) -> Changes:
    for role, (moved, message) in changes.items():
        side = from_defaults(getattr(usage, role), moves=moved.moves, shift=moved.shift)
        changed = None if side is None else replace(usage, **{role: side})
        yield changed, {"message": f"{NAMES[role]} {message}".capitalize()}


def head_on_top(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    yield from_defaults(usage, axis="tokens and heads"), {"message": "head"}
    yield from_defaults(usage, axis="tokens and batch"), {"message": "batch row"}


def rows_unwritten(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    rows = evidence.unwritten()
    yield from_defaults(usage, zeros=True) if rows else None, {"rows": rows}


def other_logit_factor(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield another factor of all logits, read off the evidence."""
    for factor in evidence.logit_factors(usage):
        if 1e-6 < factor < 1e6 and abs(factor - 1.0) > 1e-6:
            yield from_defaults(usage, logit_factor=factor), {"factor": factor}


READ_OFF: tuple[Mistake[RotationUsage], ...] = (
    Mistake("logit factor", "The logits are {factor:.6g} times what they should be: another softmax scale.",
            "Look at what q·k is multiplied by: 1/√head_dim, query_pre_attn_scalar, attention_multiplier, or the "
            "square of mscale that DeepSeek takes besides.", other_logit_factor),
    Mistake("rows not written", "The rotated vectors are zero where the input is not: {rows}.",
            "Look at which rows the kernel writes: all of the batch, all heads and all tokens.", rows_unwritten,
            alone=True),
    Mistake("heads counted", "The number of the {message} is added to the position.",
            "Say which axis is which: all heads of a token have one position.", head_on_top, alone=True),
    Mistake("positions", "{message}.",
            "Look at the positions that reach the rotation: with a cache, in chunks and with padding they go on "
            "where the last ones ended.", positions_elsewhere, alone=True),
)  # fmt: skip
