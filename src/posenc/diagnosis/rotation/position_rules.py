"""Rules that used positions follow, as they are read off rotations: shifted, rolled, standing still, other axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.diagnosis.rotation.rotation_usage import RoleUsage

#: How far from a whole number a position may be read.
WHOLE = 0.1
#: So many tokens may each stand anywhere; more must follow a rule.
FEWEST = 3


class UsedPositions(NamedTuple):
    """Distinct expected positions, (n,) or (n, axes), and those that were used in their place."""

    expected: np.ndarray
    used: np.ndarray


def shift_of(used: UsedPositions) -> tuple[int, ...]:
    """Find the median shift of every coordinate, in whole numbers; zeros where any is not near a whole number."""
    shift = np.atleast_2d(np.median(used.used - used.expected, axis=0))[0]
    whole = np.round(shift)
    return tuple(int(number) for number in whole) if np.all(np.abs(shift - whole) <= WHOLE) else (0,) * len(shift)


def rule_of(used: UsedPositions) -> tuple[RoleUsage, str] | None:
    """Find the rule that used positions follow, as a usage and in words; None where they are right or follow none."""
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
    if np.array_equal(used, np.arange(len(used))):
        return "are counted 0, 1, 2, ..., whatever positions are given"
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
    rolled = int(np.argmin(np.abs(used - expected[0])))
    if rolled and np.array_equal(used, np.roll(expected, rolled)):
        return (
            f"are rolled by {rolled}: those of position {rolled:g} come first, as in a ring buffer read from its start"
        )
    if len(wrong) <= FEWEST and len(wrong) <= len(expected) / 2:
        moved = (f"{one:g} is at {other:g}" for one, other in zip(expected[wrong], after, strict=True))
        return f"stand elsewhere: position {', position '.join(moved)}"
    return None


def _rule_of_axes(used: UsedPositions) -> tuple[RoleUsage, str] | None:
    """Rule of positions (n, axes): one of whole tokens, else one for each wrong coordinate; None without any."""
    of_tokens = _transposed(used) or _moved_on(used) or _counted_as_text(used)
    if of_tokens is not None:
        return RoleUsage(moves=_moves(used.expected, of_tokens[0])), of_tokens[1]
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
    return RoleUsage(moves=_moves(used.expected, result)), "; ".join(messages)


def _moves(expected: np.ndarray, result: np.ndarray) -> tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]:
    return tuple((tuple(one), tuple(other)) for one, other in zip(expected.tolist(), result.tolist(), strict=True))


def _transposed(used: UsedPositions) -> tuple[np.ndarray, str] | None:
    """Positions of a grid counted column by column where row by row is meant, with words; None for others."""
    wrong = np.abs(used.used - used.expected) > WHOLE
    axes = np.flatnonzero(wrong.any(0))
    if len(axes) != 2:
        return None
    others = np.delete(used.expected, axes, axis=1)
    result, sizes = used.expected.astype(np.float64), set()
    for other in np.unique(others[wrong.any(1)], axis=0):
        rows = np.flatnonzero((others == other).all(1))
        place = used.expected[rows][:, axes].astype(np.int64)
        height, width = np.ptp(place, axis=0) + 1
        if len(rows) != height * width:
            return None
        row, column = (place - place.min(0)).T
        token = row * width + column
        result[np.ix_(rows, axes)] = place.min(0) + np.stack([token % height, token // height], 1)
        sizes.add(f"{height} by {width}")
    if np.any(np.abs(result - used.used) > WHOLE):
        return None
    return result, f"count the tokens of a grid of {', '.join(sorted(sizes))} column by column, not row by row"


def _counted_as_text(used: UsedPositions) -> tuple[np.ndarray, str] | None:
    """Positions counted 0, 1, 2, ... in all coordinates, with words, if half of the wrong ones show it; else None."""
    counted = np.repeat(np.arange(len(used.expected), dtype=np.float64)[:, None], used.expected.shape[1], 1)
    wrong = np.abs(used.used - used.expected) > WHOLE
    if not wrong.any() or np.mean(np.abs(used.used - counted)[wrong] <= WHOLE) < 0.5:
        return None
    return counted, "are counted 0, 1, 2, ... in every coordinate, as those of text, through rows and columns too"


def _moved_on(used: UsedPositions) -> tuple[np.ndarray, str] | None:
    """Text whose coordinates are all shifted by one number from some token on.

    Half of the coordinates must show it: one whose pairs are all fast shows a position but for whole revolutions.
    """
    shift = used.used - used.expected
    wrong = (np.abs(shift) > WHOLE).any(1)
    by = np.round(np.median(shift[wrong])) if wrong.any() else 0.0
    is_text = np.ptp(used.expected[wrong], axis=1).max(initial=0.0) == 0.0
    if wrong.all() or not by or not is_text or np.mean(np.abs(shift[wrong] - by) <= WHOLE) < 0.5:
        return None
    first, height = used.expected[wrong].min(), "high" if by > 0 else "low"
    message = f"are {abs(by):g} too {height} in every coordinate from {first:g} on, as where text after an image is "
    message += "counted on from the number of its patches, in place of its longer side"
    return used.expected + by * wrong[:, None], message


def _other_axis(axis: int, used: UsedPositions, got: np.ndarray) -> tuple[np.ndarray, str] | None:
    for other in range(used.expected.shape[1]):
        if other != axis and np.all(np.abs(got - used.expected[:, other]) <= WHOLE / 100):
            coordinate = used.expected[:, other].astype(np.float64)
            return coordinate, f"have coordinate {other} in the place of coordinate {axis}"
    return None


def _rule_of_axis(axis: int, expected: np.ndarray, got: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, str] | None:
    """The coordinate (rows,) as it is used, and its rule in words; None where it follows none."""
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
