"""A bound on the work of a block, in calls: unlike its time, it is the same on a machine that is busy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def calls_at_most(most: int = 1_000_000) -> Iterator[None]:
    """Fail a block once it has entered more functions, of Python and C, than these; a million take about a second."""
    left = most

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        left -= event in ("call", "c_call")
        if left < 0:
            sys.setprofile(None)
            raise AssertionError(f"more than {most:,} calls; the last is in {frame.f_code.co_filename}")

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
    if left < 0:
        raise AssertionError(f"more than {most:,} calls, which the block let pass")
