"""The mistake behind rows of a learned table that are read in place of others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from posenc.diagnosis.mistake import Finding
from posenc.inspect.rounding import NARROW_TYPES, narrowed

COUNT = "Give position 0, 1, 2, ... to the tokens of a text."
LONGER = "Make the table long enough."
#: Factors of positions have no larger denominator.
DENOMINATOR = 16


def row_finding(positions: np.ndarray, rows: np.ndarray, offset: int, last: int) -> Finding:
    """Name the mistake by which an engine reads wrong rows of a learned table.

    Args:
        positions: Positions that were asked, in order, (n,).
        rows: Rows that were read, (n,); -1 where none was added.
        offset: The row that position 0 reads.
        last: The last row of the table; what would lie beyond may be read there.
    """
    if np.all(rows < 0):
        return Finding("table left out", "No row of the learned table is added.", "Add it to the token embeddings.")
    read = rows - offset
    for rule in (_stands_still, _shifted, _rounded, _ends, _repeats, _reversed, _scaled, _reordered):
        finding = rule(positions, read, (-offset, last - offset))
        if finding is not None:
            return finding
    wrong = int(np.flatnonzero(read != positions)[0])
    sentence = f"Tokens read other rows: {rows[wrong]} in place of {positions[wrong] + offset}."
    return Finding("positions", sentence, COUNT)


#: Positions, those whose rows were read in their place, and the least and largest that the table has.
Rule = Callable[[np.ndarray, np.ndarray, tuple[int, int]], Finding | None]


def _stands_still(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    if len(positions) < 2 or np.ptp(read):
        return None
    return Finding("positions stand still", f"All tokens are taken to be at position {read[0]}.", COUNT)


def _shifted(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    for step in sorted({*(read - positions).tolist()} - {0}, key=abs):
        if np.array_equal(read, np.clip(positions + step, *ends)) or np.array_equal(
            read, np.maximum(positions + step, 0)
        ):
            side = "high" if step > 0 else "low"
            sentence = f"Tokens read rows {abs(step)} too {side}: the first reads row {read[0] - ends[0]}."
            fix = f"The first token reads row {-ends[0]}."
            return Finding("off by one" if abs(step) == 1 else "offset", sentence, fix)
    return None


def _rounded(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    for dtype in NARROW_TYPES:
        if np.array_equal(read, np.clip(narrowed(positions.astype(float), dtype), *ends)):
            sentence = f"Positions go through {dtype}."
            return Finding(f"positions in {dtype}", sentence, "Keep positions as integers.")
    return None


def _ends(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    tail = read[read != positions]
    if not np.array_equal(read, np.minimum(positions, tail[0])):
        return None
    return Finding("table ends", f"From position {tail[0]} on, all tokens read its row.", LONGER)


def _repeats(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    wrong = read != positions
    period = int(np.gcd.reduce((positions - read)[wrong]))
    rows = read[wrong]
    # What is read in place of the rest lies within one period, before the first row that is wrong.
    if np.any(rows >= positions[wrong]) or np.ptp(rows) >= period or rows.max() >= positions[wrong][0] or period < 2:
        return None
    sentence = f"Rows repeat every {period} positions: position {positions[wrong][0]} reads that of {rows[0]}."
    return Finding("table repeats", sentence, f"{LONGER[:-1]}, and do not begin again.")


def _reversed(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    if np.ptp(positions + read):
        return None
    return Finding("positions reversed", f"Positions are counted backwards from {read[0] + positions[0]}.", COUNT)


def _scaled(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    inside = np.flatnonzero((read < ends[1]) & (positions > 0))
    if not len(inside):
        return None
    factor = Fraction(int(read[inside[-1]]), int(positions[inside[-1]])).limit_denominator(DENOMINATOR)
    scaled = positions * factor.numerator // factor.denominator
    if factor == 1 or not np.array_equal(read, np.clip(scaled, *ends)):
        return None
    sentence = f"Positions are multiplied by {factor} before a row is read."
    return Finding("positions scaled", sentence, "Read the row of the position itself.")


def _reordered(positions: np.ndarray, read: np.ndarray, ends: tuple[int, int]) -> Finding | None:
    found = dict(zip(positions.tolist(), read.tolist(), strict=True))
    known = {row: found[row] for row in found if found[row] in found}
    exchanged = [row for row in known if found[known[row]] == row != known[row]]
    if not exchanged or any(row != found[row] for row in known if row not in exchanged):
        return None
    sentence = f"Rows are exchanged: position {exchanged[0]} reads that of {found[exchanged[0]]}, and the reverse."
    return Finding("order of rows", sentence, "Write the rows of the table in order.")
