"""Likely causes of positions that are not those that a request asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.rotation.position_rules import UsedPositions, rule_of
from posenc.diagnosis.tracing.trace_records import TracedCall, TraceRecord


@dataclass(frozen=True, eq=False)
class WrongPositions:
    """Positions of one layer in one call that differ from those that are meant.

    Attributes:
        record: The whole trace.
        call: The call.
        row: Row of the batch with the first wrong one.
        first: Number of the first of the tokens: the call's own, or 0 where keys of all tokens are biased.
        used: Positions of the row's tokens, (n, axes).
        meant: Those that are meant, with the shift that the row's first tokens have, (n, axes).
        kept: Keys in the cache before the call; None where that was not seen.
        later: Used minus meant positions in every later call of the sequence, one array (n, axes) each.
    """

    record: TraceRecord
    call: TracedCall
    row: int
    first: int
    used: np.ndarray
    meant: np.ndarray
    kept: int | None
    later: tuple[np.ndarray, ...]

    @property
    def real(self) -> np.ndarray:
        """Tokens that are no padding, as flags (n,)."""
        return self.call.real[self.row, self.first :]

    @property
    def gap(self) -> np.ndarray:
        """Used minus meant positions of tokens that are not padding and whose position is known, (tokens, axes)."""
        real = self.real & ~np.isnan(self.used).any(-1)
        gap: np.ndarray = (self.used - self.meant)[real]
        return gap

    def used_are(self, positions: np.ndarray) -> bool:
        """Whether the tokens that are no padding stand at these positions, (n,) or (n, axes)."""
        real = self.real
        other = positions if positions.ndim == 2 else positions[:, None]
        return bool(np.all(self.used[real] == np.broadcast_to(other, self.used.shape)[real]))


class Cause(NamedTuple):
    """Known way to get positions wrong: its name, a sentence, what to do, and a test whether it shows."""

    name: str
    sentence: str
    fix: str
    shows: Callable[[WrongPositions], bool]


def _without_offset(wrong: WrongPositions) -> bool:
    offset = wrong.record.stated.offset
    return offset != 0 and bool(np.all(wrong.gap == -offset))


def _suffix(wrong: WrongPositions) -> bool:
    """Whether positions are the last ones of the whole request, in place of those of the chunk."""
    call, stated = wrong.call, wrong.record.stated.positions
    total = max(call.total, *(one.start + one.count for one in wrong.record.calls if one.sequence == call.sequence))
    if total <= call.start + call.count:
        return False
    whole = np.arange(total)[:, None] if stated is None else stated[min(wrong.row, len(stated) - 1)]
    return wrong.used_are(whole[total - call.count :] + (wrong.record.stated.offset if stated is None else 0))


def _restarted(wrong: WrongPositions) -> bool:
    """Whether the call begins at 0; after a first call of one token, later calls tell that from one behind."""
    if wrong.call.start == 0 or (wrong.later and _one_behind(wrong)):
        return False
    counted = np.maximum(np.cumsum(wrong.real) - 1, 0)
    return wrong.used_are(counted) or wrong.used_are(np.arange(wrong.call.count))


def _block_restarted(wrong: WrongPositions) -> bool:
    """Whether blocks inside the call restart below their place, and have two tokens or more on average."""
    gap, used = wrong.gap, wrong.used[wrong.real & ~np.isnan(wrong.used).any(-1)]
    off = np.flatnonzero((gap != 0).any(1))
    if not off.size or off[0] == 0 or np.any(gap[off] >= 0) or np.any(used[off[0]] >= used[off[0] - 1]):
        return False
    begins = 1 + np.count_nonzero((np.diff(off) > 1) | (np.diff(gap[off], axis=0) != 0).any(1))
    return bool(2 * begins <= len(off))


def _stays_at_last(wrong: WrongPositions) -> bool:
    """Whether tokens of this call, or of those after it, stay at the last right position."""
    steps = [gap[:, 0] for gap in (wrong.gap, *wrong.later)]
    behind = np.concatenate(steps)
    behind = behind[np.argmax(behind != 0) :]
    return wrong.gap.shape[1] == 1 and len(behind) > 1 and np.array_equal(behind, -np.arange(1, len(behind) + 1))


def _kept_rows(wrong: WrongPositions) -> bool:
    kept = wrong.kept
    return kept is not None and kept < wrong.call.start and wrong.used_are(kept + np.arange(wrong.call.count))


def _one_behind(wrong: WrongPositions) -> bool:
    return wrong.call.start > 0 and bool(np.all(wrong.gap == -1)) and all(np.all(gap == -1) for gap in wrong.later)


def _padding(wrong: WrongPositions) -> bool:
    real = wrong.call.real[wrong.row]
    before = np.cumsum(~real)[wrong.first :][wrong.real]
    return bool(before.any()) and len(before) == len(wrong.gap) and bool(np.all(wrong.gap == before[:, None]))


def _documents(wrong: WrongPositions) -> bool:
    documents = wrong.call.documents[wrong.row]
    starts = np.searchsorted(documents, documents, side="left")[wrong.first :]
    return bool(starts.any()) and bool(np.all(wrong.gap == starts[wrong.real][:, None]))


def _largest_coordinate(wrong: WrongPositions) -> bool:
    """Whether a later call goes on from the largest coordinate of the prompt."""
    earlier = [call.expected[wrong.row] for call in wrong.record.calls[: wrong.call.number]
               if call.sequence == wrong.call.sequence and not np.isnan(call.expected[wrong.row]).all()]  # fmt: skip
    if wrong.used.shape[1] < 2 or not earlier:
        return False
    largest = np.nanmax(earlier[0]) + wrong.call.start - earlier[0].shape[0] + 1
    return bool(np.all(wrong.used[wrong.real][:1] == largest))


def _whole_seconds(wrong: WrongPositions) -> bool:
    """Whether only times are wrong, inside a video that begins where it is meant to."""
    gap = wrong.gap
    if gap.shape[1] < 3 or not gap[:, 0].any():
        return False
    first = int(np.argmax(gap[:, 0] != 0))
    meant = wrong.meant[wrong.real]
    in_media = (meant != meant[:, :1]).any(1)
    return bool(in_media[first]) and not gap[:first].any() and not gap[in_media, 1:][: first + 1].any()


CAUSES = (
    Cause(
        "offset of the rank", "Positions are counted from 0 on this rank, without the offset of its first token.",
        "Add the offset: the tokens of all ranks before, or use the rank's own rows of the global positions.",
        _without_offset,
    ),
    Cause(
        "padding counted", "Padding before the first token was counted.",
        "Count the tokens that the mask keeps: cumsum(mask) - 1, in every call.", _padding,
    ),
    Cause(
        "documents not restarted", "Positions run on through the documents that are packed into a row.",
        "Begin at 0 in each document: posenc.positions.packed(lengths).", _documents,
    ),
    Cause(
        "offset of kept rows", "Positions are counted from the rows that the cache kept, not from the tokens that were "
        "read.", "Count the tokens that were read; do not take the length of the cache.", _kept_rows,
    ),
    Cause(
        "positions restarted", "Positions begin again at 0 in this call, although the sequence goes on.",
        "Begin each chunk or micro-batch at the number of tokens before it.", _restarted,
    ),
    Cause(
        "positions restarted", "Positions begin again inside this call, although the sequence goes on: a chunk counts "
        "from its own start, or a rank of a split sequence does not add its offset.",
        "Begin each chunk at the number of tokens before it, and each rank at the tokens of all ranks before.",
        _block_restarted,
    ),
    Cause(
        "table ends", "Every position from there on is taken for the last one before it, as where a table ends.",
        "Make the table as long as the sequence, and clamp no positions.", _stays_at_last,
    ),
    Cause(
        "suffix for a chunk", "The last positions of the whole request were taken for those of this chunk.",
        "Take positions[start : start + n] of the chunk, not the last n.", _suffix,
    ),
    Cause(
        "one position behind", "Every token after the first call stands one position behind its place, as where a "
        "draft takes its position before the count is advanced.",
        "Add 1: a token stands at the number of tokens before it.", _one_behind,
    ),
    Cause(
        "next after a video", "Tokens after the prompt count on from its largest coordinate, the end of a video, as "
        "rope_deltas of transformers do; in one forward over prompt and answer they count on from the last token.",
        "Give position_ids that go on from the last token, as generate of transformers does.", _largest_coordinate,
    ),
    Cause(
        "time of video frames", "The times of a video's frames are wrong, height and width are right: frames a second "
        "or seconds a grid were cut to a whole number, or left out.",
        "Pass second_per_grid_ts as a fraction to the model's positions.", _whole_seconds,
    ),
)  # fmt: skip


def cause_of(wrong: WrongPositions) -> Cause:
    """The first known cause that shows in wrong positions; else the rule that they follow."""
    for cause in CAUSES:
        if cause.shows(wrong):
            return cause
    real = wrong.real
    expected, used = wrong.meant[real], wrong.used[real]
    if expected.shape[1] == 1:
        expected, used = expected[:, 0], used[:, 0]
    rule = None if np.isnan(used).any() else rule_of(UsedPositions(expected, used))
    sentence = "No known cause shows in them."
    if rule is not None and rule[1]:
        sentence = f"The tokens of the call {rule[1]}."
    fix = (
        "Look at what makes the positions that this layer's rotation or table takes; `diagnose` of a "
        "`posenc.transformers.capture` tries more mistakes."
    )
    return Cause("other positions", sentence, fix, lambda wrong: True)
