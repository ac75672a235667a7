"""Ask the same of many values in one test, and report each value that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def every(values: Iterable[Any], check: Callable[[Any], None]) -> None:
    """Run the check on each value; the test fails at the end, with a line for each value that failed."""
    failures, asked = [], 0
    for asked, value in enumerate(values, 1):  # noqa: B007  (counted)
        try:
            check(value)
        except (Exception, pytest.fail.Exception) as failure:
            failures.append(f"{shown(value)}: {type(failure).__name__}: {failure}")
    assert asked, "there must be values to ask about"
    assert not failures, "\n".join([f"{len(failures)} of {asked} values fail:", *failures])


def shown(value: Any) -> str:
    """A value in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:58]}.."
