"""Shared by every test: names of cases, a small heap to collect, and by night, room for compiled programs."""

import gc
import sys
from typing import Any

import pytest

from case_names import case_name

#: JAX keeps every program that it has compiled, tens of megabytes a test; by night a worker lets go of them so often.
TESTS_TO_A_CLEARING = 40

LATE = pytest.StashKey[int]()


def pytest_make_parametrize_id(val: Any, argname: str) -> str | None:
    """Name a case that has no id of its own; pytest asks for each value of each case."""
    return argname if getattr(val, "__name__", "") == "<lambda>" else case_name(val)


def pytest_collection_finish() -> None:
    """Take the collected tests out of the garbage collector's sight: a pass over them takes a second of some test."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Forget what JAX has compiled, after every so many tests that are marked nightly."""
    if item.get_closest_marker("nightly") is None:
        return
    count = item.config.stash.get(LATE, 0) + 1
    item.config.stash[LATE] = count
    if count % TESTS_TO_A_CLEARING == 0 and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
