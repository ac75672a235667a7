"""Calls that are timed, without a pass of the garbage collector over all that a worker has made by then."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector out of a block; after thousands of tests it takes up to a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
