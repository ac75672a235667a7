"""The positions that a user's code is asked for."""

from __future__ import annotations

import numpy as np

from posenc.diagnosis.code.user_code import POSITIONS, Caller

#: How far to ask, the farthest first: a table may end earlier. Positions may be the first; a table with few numbers is
#: as long as the second, and other lengths are at most the third.
REACHES = (POSITIONS[-1] + 1, 8_194, 3_000, 600, 128, 32)
#: Few numbers of a table, and the most numbers that are compared at once.
FEW, MOST = 1 << 21, 1 << 24


def takes_positions(caller: Caller) -> bool:
    """Whether positions are given, rather than counted from 0."""
    return bool({"positions", "position"} & set(caller.call.form))


def asked_positions(caller: Caller, reach: int) -> np.ndarray:
    """The positions below `reach` to ask for: those that the caller gives, or all of them where they are counted."""
    given = [position for position in caller.asked if position < reach]
    return np.array(given, dtype=np.int64) if takes_positions(caller) else np.arange(reach)
