"""Mistakes that are read off the numbers: from which positions rows were rotated, by what logits were multiplied."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.mistake import Mistake, from_defaults
from posenc.diagnosis.rotation.applied_rotation import Role, rotated_pairs
from posenc.diagnosis.rotation.rotation_evidence import Changes, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RoleUsage, RotationUsage

#: How far from a whole number a position may be read.
WHOLE = 0.1
#: So many tokens may each stand anywhere; more must follow a rule.
FEWEST = 3
NAMES: dict[Role, str] = {"query": "queries", "key": "keys"}


class UsedPositions(NamedTuple):
    """Distinct positions, (n,) or (n, axes), and those that were used in their place."""

    expected: np.ndarray
    used: np.ndarray


def positions_read_off(evidence: RotationEvidence, usage: RotationUsage, role: Role) -> UsedPositions | None:
    """The positions that queries or keys were really rotated from; None where that is not shown."""
    rotations = evidence.rotations(usage, role)
    if rotations is None or usage.other_layout or usage.sine_for_cosine:
        return None
    pairs = rotated_pairs(usage, role)
    axis = pairs.axis if rotations.positions.ndim > 1 else np.zeros_like(pairs.axis)
    return UsedPositions(rotations.positions, rotations.used_positions(pairs.frequencies[0], axis))


def shift_of(used: UsedPositions) -> tuple[int, ...]:
    """The whole shift of every coordinate that is the same in all rows; zeros where it is not."""
    shift = np.atleast_2d(np.median(used.used - used.expected, axis=0))[0]
    whole = np.round(shift)
    return tuple(int(number) for number in whole) if np.all(np.abs(shift - whole) <= WHOLE) else (0,) * len(shift)


def positions_elsewhere(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Positions that follow another rule, of queries, of keys or of both."""
    roles: tuple[Role, ...] = evidence.roles() or ("query", "key")
    changes = {}
    for role in roles:
        used = positions_read_off(evidence, usage, role)
        rule = None if used is None else rule_of(used)
        if rule is not None:
            changes[role] = rule
    if not changes:
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


def rule_of(used: UsedPositions) -> tuple[RoleUsage, str] | None:
    """Rule that used positions follow, as a usage and in words; None where they are right or follow none."""
    if used.expected.ndim > 1:
        return _rule_of_axes(used)
    whole = np.round(used.used)
    if np.any(np.abs(used.used - whole) > WHOLE):
        return None
    wrong = np.flatnonzero(whole != used.expected)
    if not wrong.size:
        return None
    message = _message(used.expected, whole, wrong)
    shift = shift_of(used)
    if len(wrong) == len(whole) and np.all(whole - used.expected == shift[0]):
        return RoleUsage(shift=shift[0]), message or ""
    moves = tuple(((float(used.expected[row]),), (float(whole[row]),)) for row in wrong)
    return None if message is None else (RoleUsage(moves=moves), message)


def _message(expected: np.ndarray, used: np.ndarray, wrong: np.ndarray) -> str | None:
    """Describe the rule of whole positions (n,), of which those numbered are wrong; None where there is none."""
    first, after = f"{expected[wrong[0]]:g}", used[wrong]
    where = f", from position {first} on" if wrong[0] else ""
    shifts = after - expected[wrong]
    to_the_end = len(wrong) > 1 and np.array_equal(wrong, np.arange(wrong[0], len(expected)))
    if to_the_end and np.all(shifts == shifts[0]):
        if after[0] == 0 and wrong[0]:
            return f"begin again at position 0 from position {first} on"
        return f"are at positions {abs(shifts[0]):g} too {'high' if shifts[0] > 0 else 'low'}{where}"
    if to_the_end and np.all(after == after[0]):
        return f"are all at position {after[0]:g}{where}"
    if to_the_end and np.all(expected[wrong] != 0):
        times = after / expected[wrong]
        if np.allclose(times, times[0], atol=1e-6):
            return f"are at their positions times {times[0]:g}"
    if len(wrong) <= FEWEST and len(wrong) <= len(expected) / 2:
        moved = (f"{one:g} is at {other:g}" for one, other in zip(expected[wrong], after, strict=True))
        return f"stand elsewhere: position {', position '.join(moved)}"
    return None


def _rule_of_axes(used: UsedPositions) -> tuple[RoleUsage, str] | None:
    """Every coordinate by itself: it stands still, is shifted, or is measured otherwise."""
    messages, result = [], used.expected.astype(np.float64)
    for axis in range(used.expected.shape[1]):
        expected, got = used.expected[:, axis].astype(np.float64), used.used[:, axis]
        wrong = np.flatnonzero(np.abs(got - expected) > WHOLE / 100)
        if not wrong.size:
            continue
        rule = _other_axis(axis, used, got) or _rule_of_axis(axis, expected, got, wrong)
        if rule is None:
            return None
        result[:, axis], message = rule
        messages.append(message)
    if not messages:
        return None
    moves = tuple(
        (tuple(one), tuple(other)) for one, other in zip(used.expected.tolist(), result.tolist(), strict=True)
    )
    return RoleUsage(moves=moves), "; ".join(messages)


def _other_axis(axis: int, used: UsedPositions, got: np.ndarray) -> tuple[np.ndarray, str] | None:
    for other in range(used.expected.shape[1]):
        if other != axis and np.all(np.abs(got - used.expected[:, other]) <= WHOLE / 100):
            coordinate = used.expected[:, other].astype(np.float64)
            return coordinate, f"have coordinate {other} in the place of coordinate {axis}"
    return None


def _rule_of_axis(axis: int, expected: np.ndarray, got: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, str] | None:
    """The coordinate as it is used in every row, and in words."""
    if np.ptp(got[wrong]) <= WHOLE and np.ptp(expected[wrong]) > WHOLE:
        are_whole = np.all(expected == np.round(expected))
        value = float(np.round(np.median(got[wrong])) if are_whole else got[wrong[0]])
        used = expected.copy()
        used[wrong] = value
        span = f"{expected[wrong].min():g} to {expected[wrong].max():g}"
        return used, f"have coordinate {axis} stand still at {value:g}, where it goes from {span}"
    factor, shift = np.polyfit(expected, got, 1)
    if np.allclose(got, factor * expected + shift, atol=1e-3 * max(1.0, float(np.ptp(got)))):
        times = "" if abs(factor - 1.0) < 1e-4 else f" times {factor:.4g}"
        plus = "" if abs(shift) < 1e-4 else f" {'plus' if shift > 0 else 'minus'} {abs(shift):.4g}"
        whole = np.abs(got - np.round(got)) <= WHOLE / 100
        return np.where(whole, np.round(got), got), f"have coordinate {axis} as position{times}{plus}"
    return None


def head_on_top(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    yield from_defaults(usage, axis="tokens and heads"), {"message": "head"}
    yield from_defaults(usage, axis="tokens and batch"), {"message": "batch row"}


def rows_unwritten(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    rows = evidence.unwritten()
    yield from_defaults(usage, zeros=True) if rows else None, {"rows": rows}


def other_logit_factor(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Another factor of all logits, read off."""
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
